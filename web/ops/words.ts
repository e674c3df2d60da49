/** The page's language. The browser's language is the default; a choice made on the page is kept. */

import { store } from './store.ts'
import { en, type Words } from './words/en.ts'
import { zh } from './words/zh.ts'

const KEPT = 'stampede-ops-language'

let current: Words | undefined

export function words(): Words {
  current ??= isChinese() ? zh : en
  return current
}

export function switchLanguage(): void {
  current = words() === en ? zh : en
  try {
    localStorage.setItem(KEPT, current.locale)
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
  store.changed()
}

function isChinese(): boolean {
  try {
    const kept = localStorage.getItem(KEPT)
    if (kept !== null) return kept.startsWith('zh')
  } catch {
    // As above.
  }
  return navigator.language.toLowerCase().startsWith('zh')
}
