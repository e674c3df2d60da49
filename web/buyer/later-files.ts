/** Code that is loaded when it is needed, so that the page's own script stays small. `web/build.ts` bundles each file of `later/` apart. */

/** By name; written into the script when it is bundled. */
declare const LATER_ADDRESSES: Readonly<Record<'contact' | 'line' | 'qr' | 'solver' | 'widget', string>>

/** Of the worker's script. */
export function solverAddress(): string {
  return LATER_ADDRESSES.solver
}

export function loadWidget(): Promise<typeof import('./later/widget.ts')> {
  return import(LATER_ADDRESSES.widget)
}

export function loadContact(): Promise<typeof import('./later/contact.ts')> {
  return import(LATER_ADDRESSES.contact)
}

export function loadQr(): Promise<typeof import('./later/qr.ts')> {
  return import(LATER_ADDRESSES.qr)
}

export function loadLine(): Promise<typeof import('./later/line.ts')> {
  return import(LATER_ADDRESSES.line)
}
