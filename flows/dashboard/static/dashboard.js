// The theme: the system's, until another was chosen here. Runs before the page is painted.
(() => {
  const KEY = "atomic-flows-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const apply = () => {
    root.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
  };
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    try {
      localStorage.setItem(KEY, root.dataset.theme === "dark" ? "light" : "dark");
    } catch {
      return;
    }
    apply();
  });
})();

// Figures in charts.
(() => {
  const money = (value) =>
    value >= 1000 ? `$${Math.round(value).toLocaleString("en-US")}` : value >= 1 ? `$${value.toFixed(2)}` : value ? `$${value.toPrecision(2)}` : "$0";
  const count = (value) => value.toLocaleString("en-US");
  window.flowsFigure = (value, unit) => (unit === "money" ? money(value) : count(value));
  // Text for a tip: the largest parts first, at most ten of them, and their sum.
  window.flowsTip = (parts, unit) => {
    const there = parts.filter((part) => part.value).sort((a, b) => b.value - a.value);
    const sum = there.reduce((all, part) => all + part.value, 0);
    const lines = there.slice(0, 10).map((part) => `${window.flowsFigure(part.value, unit)}  ${part.seriesName.slice(0, 60)}`);
    const more = there.length > 10 ? [`and ${there.length - 10} more`] : [];
    const whole = there.length > 1 ? [`${window.flowsFigure(sum, unit)}  in all`] : there.length ? [] : ["nothing"];
    return [parts[0]?.name ?? "", ...lines, ...more, ...whole].join("\n");
  };
})();

// Forms that only ask: what is left empty does not get into the address.
document.addEventListener("submit", (event) => {
  for (const field of event.target.querySelectorAll("[data-asks] input, [data-asks] select")) {
    if (!field.value) field.disabled = true;
  }
});
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("[data-asks] :disabled")) field.disabled = false;
});

// A tab that nobody looks at asks for nothing new.
document.addEventListener("visibilitychange", () => {
  const event = new CustomEvent("lookedat", { detail: !document.hidden });
  for (const place of document.querySelectorAll("[data-live]")) place.dispatchEvent(event);
});

// Commands are to be typed elsewhere: this copies them.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
});
