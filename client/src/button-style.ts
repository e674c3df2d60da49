/** How the button looks. A page changes it by variables (`--stampede-…`) and by `::part(button)`, `::part(note)`, `::part(clock)`, `::part(quantity)`. */

export const STYLE = `
:host { display: inline-block; font: inherit; min-width: 14rem; }
.clock { font-variant-numeric: tabular-nums; font-size: 1.5em; margin: 0 0 .5rem; text-align: center; }
.quantity { display: flex; align-items: center; justify-content: center; gap: .75rem; border: 0; margin: 0 0 .5rem; padding: 0; }
.quantity button { min-width: 2.75rem; min-height: 2.75rem; font: inherit; cursor: pointer;
  border: 1px solid currentColor; border-radius: var(--stampede-radius, .5rem); background: none; color: inherit; }
.main { width: 100%; min-height: 3rem; padding: .75rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer; border: 0;
  border-radius: var(--stampede-radius, .5rem); background: var(--stampede-colour, #b3261e); color: var(--stampede-text, #fff); }
.main[aria-disabled=true] { background: var(--stampede-idle-colour, #5f6368); color: var(--stampede-idle-text, #fff); cursor: default; }
.main:focus-visible, .quantity button:focus-visible { outline: 3px solid var(--stampede-focus, #1a73e8); outline-offset: 2px; }
.note { min-height: 1.5em; margin: .5rem 0 0; font-size: .9em; }
.qr { overflow-wrap: anywhere; }
[hidden] { display: none !important; }
`
