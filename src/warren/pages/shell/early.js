// Runs before the first paint: the reader's choice of light or dark, so that the page does not flash.
try {
  const chosen = localStorage.getItem("warren.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage is forbidden: the system's choice holds
}
