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
