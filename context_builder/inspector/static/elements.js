// Makes elements. Text only ever becomes text: there is no way here to make markup of it.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      made.addEventListener(name.slice(2), value);
    } else if (value === true) {
      made.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, String(value));
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null));
  return parent;
}

export function said(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
  return node;
}

export function width(node, share) {
  node.style.setProperty("--share", `${Math.max(0, Math.min(1, share)) * 100}%`);
  return node;
}

let lastId = 0;

export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

// Moves through a row of choices with the arrow keys, as lists and tabs want it.
export function withArrowKeys(container, choices, choose) {
  container.addEventListener("keydown", (event) => {
    const all = choices();
    const at = all.indexOf(document.activeElement);
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    let next = null;
    if (event.key in steps && at >= 0) {
      next = Math.max(0, Math.min(all.length - 1, at + steps[event.key]));
    } else if (event.key === "Home") {
      next = 0;
    } else if (event.key === "End") {
      next = all.length - 1;
    }
    if (next !== null && all.length) {
      event.preventDefault();
      choose(next);
      choices()[next].focus();
    }
  });
}
