/** What the rehearsal was made with, as rows of a table. Says only what is known from here: another's server may limit requests or not. */

import { targetOf } from '../crowd/connections.ts'
import { describeFault } from '../fault/mid-run-fault.ts'
import type { Rehearsal } from '../result.ts'
import { quote, whole } from './plot.ts'

export function madeWith(result: Rehearsal): string {
  const { server, sale, seed, requests } = result
  const rows: [string, string][] = [
    ['crowd', `${whole(result.settings.buyers)} buyers, ${result.settings.shape}`],
    ['mix', result.settings.mix],
    ...(result.settings.shards === 1 ? [] : [['shards', String(result.settings.shards)] as [string, string]]),
    ['connections', `${whole(result.settings.connections)}, ${addresses(server)}; ${limits(server)}`],
    ['requests', `${whole(requests)}, without those for tickets`],
    [
      'server',
      server.kind === 'throwaway'
        ? 'started for this rehearsal, with its own PostgreSQL, on the same machine'
        : server.url,
    ],
    ['sale', sale === null ? 'none' : `${sale.name} (${sale.id})`],
    ...(result.fault === null ? [] : [['fault', describeFault(result.fault)] as [string, string]]),
    ['machine', result.settings.machine],
    ['seed', String(seed)],
    ...result.notes.map((note): [string, string] => ['note', note]),
  ]
  return `<table class="settings">${rows.map(([name, value]) => `<tr><th scope="row">${name}</th><td>${quote(value)}</td></tr>`).join('')}</table>`
}

/** Where they do not all have their own there is a note about it. */
function addresses({ url }: Rehearsal['server']): string {
  return targetOf(url).note === undefined ? 'each from an address of its own' : 'all from one address'
}

function limits({ kind }: Rehearsal['server']): string {
  return kind === 'throwaway' ? 'the server’s limits were on' : 'whether the server limits requests is not known here'
}
