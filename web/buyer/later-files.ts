/** Code that is loaded when it is needed, so that the page's own script stays small. `web/build.ts` bundles each file of `later/` apart. */

/** By name; written into the script when it is bundled. */
declare const LATER_ADDRESSES: Readonly<
  Record<'contact' | 'crowd' | 'line' | 'pay-code' | 'reminder' | 'solver' | 'widget', string>
>

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

export async function loadLine() {
  const line: typeof import('./later/line.ts') = await import(LATER_ADDRESSES.line)
  return line.showLine
}

export async function loadPayCode(takesFocus: boolean) {
  const code: typeof import('./later/pay-code.ts') = await import(LATER_ADDRESSES['pay-code'])
  return code.showPayCode.bind(undefined, takesFocus)
}

export async function loadCrowd() {
  const crowd: typeof import('./later/crowd.ts') = await import(LATER_ADDRESSES.crowd)
  return crowd.showCrowd
}

export async function loadReminder() {
  const reminder: typeof import('./later/reminder.ts') = await import(LATER_ADDRESSES.reminder)
  return reminder.showReminder
}
