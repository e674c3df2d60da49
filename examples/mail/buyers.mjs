/**
 * The two functions that are your shop's: events hold a buyer's id and nothing else that is personal. Here they read a JSON file,
 * `{"ada": {"address": "ada@example.org", "language": "en"}}`, again for each mail. Replace them with a look into your own tables.
 */

import { readFile } from 'node:fs/promises'

/**
 * Undefined: this buyer gets no mail (unknown, erased, does not want any). A thrown error: try again later.
 * @returns {Promise<{ address: string, language: 'en' | 'zh' } | undefined>}
 */
export async function findBuyer(id, file) {
  const buyers = JSON.parse(await readFile(file, 'utf8'))
  return Object.hasOwn(buyers, id) ? buyers[id] : undefined
}

/** Where the buyer sees the order and pays: `{sale}`, `{item}` and `{order}` in the address are filled in. */
export function orderPage(order, template) {
  return template
    .replaceAll('{sale}', encodeURIComponent(order.sale))
    .replaceAll('{item}', encodeURIComponent(order.item))
    .replaceAll('{order}', encodeURIComponent(order.id))
}
