/**
 * What is on in this process that real buyers must not meet: parts for trying Stampede out, and for testing it. The start prints it, `stampede
 * doctor` finds it, and /ops shows it as trouble. At home (`atHome` in settings.ts) the sandbox and the demo are on by default, and no finding.
 */

import type { Config } from './config.ts'

interface UnsafeSetting {
  /** The setting's name. */
  readonly which: string
  readonly value: string
  /** What follows from it. */
  readonly words: string
  readonly todo: string
}

export function unsafeSettings({ atHome, paymentProviders, demo, faultPoints }: Config): readonly UnsafeSetting[] {
  const found: UnsafeSetting[] = []
  if (!atHome && paymentProviders.includes('sandbox'))
    found.push({
      which: 'PAYMENT_PROVIDERS',
      value: 'sandbox',
      words: 'buyers approve their own payments, and no money moves',
      todo: 'take the sandbox out before real buyers come',
    })
  if (!atHome && demo)
    found.push({
      which: 'DEMO',
      value: 'on',
      words: 'a start with nothing on sale puts made-up goods on sale',
      todo: 'set DEMO=off before real buyers come',
    })
  if (faultPoints !== '')
    found.push({
      which: 'FAULT_POINTS',
      value: faultPoints,
      words: 'this process fails on purpose',
      todo: 'unset FAULT_POINTS, which is for tests',
    })
  return found
}
