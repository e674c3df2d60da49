/** Exports that stand although only tests import them, as `path#name`, each with its reason. Short is good. */

export const EXPORTS_EXCUSED: Readonly<Record<string, string>> = {
  'src/base/assert.ts#Bug': 'tests name it to tell a failed assertion from a fault',
  'src/base/log-events.ts#LOG_EVENTS': 'the sentences are for docs/reference/logs.md; the types take the names',
  'src/base/log-events.ts#OUTAGE_EVENTS': 'the same',
  'src/base/random.ts#seededRandom': 'stands in for systemRandom wherever a run must be repeatable',
}
