"use strict";
// What the pages of reports share: elements, the state in the address, lines to copy, and printing.

/** @typedef {Record<string, string>} State what the address says; members that are empty are left out */

/** @param {string} id */
const by = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement | HTMLSelectElement} */ (document.getElementById(id));

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The state in the address; empty where the fragment is the name of a section. @returns {State} */
function readAddress() {
  return location.hash.includes("=") ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : {};
}

/** Writes the state into the address; with `isStep`, the browser's button Back returns to the one before. @param {State} state */
function writeAddress(state, isStep = false) {
  const text = new URLSearchParams(Object.entries(state).filter(([, value]) => value)).toString();
  if (text === location.hash.slice(1)) return;
  const address = text ? `#${text}` : location.pathname + location.search;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Copies the line beside a button. @param {HTMLElement} button */
async function copyLine(button) {
  const source = /** @type {HTMLElement} */ (button.parentElement?.querySelector("code"));
  try {
    await navigator.clipboard.writeText(source.textContent || "");
  } catch { // not allowed, or not supported: use the old way
    getSelection()?.selectAllChildren(source);
    document.execCommand("copy");
    getSelection()?.removeAllRanges();
  }
  by("said").textContent = `copied: ${source.textContent}`;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

/** What an element holds, unpacked. @param {string} id */
function inflate(id) {
  const bytes = Uint8Array.from(atob(by(id).textContent || ""), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

/** The address of the explorer's page, which is within this one. */
let explorer = "";

/** Opens a case in the explorer, in a tab of its own. @param {string} run */
async function explore(run) {
  const opened = window.open("");
  explorer ||= URL.createObjectURL(new Blob([await inflate("explorer").text()], { type: "text/html" }));
  if (opened) opened.location.href = `${explorer}#run/${run}/`;
  else by("said").textContent = "The browser has not opened a tab for the explorer.";
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button.copy, button.explore");
  if (!(button instanceof HTMLElement)) return;
  if (button.classList.contains("copy")) void copyLine(button);
  else void explore(button.dataset.run || "0");
});

// Paper cannot be opened, so everything is.
/** @type {HTMLDetailsElement[]} */
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details")].filter((details) => !details.open);
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
