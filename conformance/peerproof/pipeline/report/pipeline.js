// The filter of the pipeline's page, and its contents; the address has both.

const entries = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("article, .metric, #verdicts tbody tr, #input tbody tr")]);
const texts = entries.map((entry) => (entry.textContent || "").toLowerCase());

/** @returns {State} */
const filterState = () => ({ text: field("text").value.trim(), severity: field("severity").value });

function filterEntries() {
  const { text, severity } = filterState();
  const words = text.toLowerCase().split(/\s+/);
  let count = 0;
  entries.forEach((entry, place) => {
    const isShown = words.every((word) => texts[place].includes(word)) && (!severity || (entry.dataset.severity ?? severity) === severity);
    entry.hidden = !isShown;
    count += Number(isShown);
  });
  by("count").textContent = `${count} of ${entries.length} entries`;
}

function showAddress() {
  const { text, severity, part } = readAddress();
  field("text").value = text || "";
  field("severity").value = severity || "";
  filterEntries();
  if (part) document.getElementById(part)?.scrollIntoView();
}

for (const name of ["text", "severity"]) {
  field(name).addEventListener("input", () => {
    filterEntries();
    writeAddress({ ...readAddress(), ...filterState() });
  });
}
document.querySelectorAll(".strip a").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault();
  writeAddress({ ...filterState(), part: (link.getAttribute("href") || "").slice(1) }, true);
  showAddress();
}));
by("filter").addEventListener("submit", (event) => event.preventDefault());
by("filter").hidden = false;
addEventListener("popstate", showAddress);
showAddress();
performance.mark("ready");
