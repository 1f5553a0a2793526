// The theme is that of the system until somebody chooses another.

const key = "colonnade.theme";

export const themes = ["system", "light", "dark"];

export function theme() {
  const chosen = localStorage.getItem(key);
  return themes.includes(chosen) ? chosen : "system";
}

export function chooseTheme(name) {
  if (name === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, name);
  applyTheme();
}

export function applyTheme() {
  const name = theme();
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  dispatchEvent(new Event("themechange"));
}
