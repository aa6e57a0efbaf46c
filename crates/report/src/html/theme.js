// Light, dark, or as the system is set: a button in the header, remembered by the browser.

function addTheme(header) {
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem('lgoose-theme'); } catch { return null; } };
  const isDark = () => (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  if (['dark', 'light'].includes(stored())) root.dataset.theme = stored();
  const button = make('button', { type: 'button', class: 'theme' });
  const name = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('lgoose-theme', root.dataset.theme); } catch { /* a page from a file may not store */ }
    name();
  });
  name();
  header.append(button);
  return button;
}
