/** Exports that stand although only tests import them, as `path#name`, each with its reason. Short is good. */

export const EXPORTS_EXCUSED: Readonly<Record<string, string>> = {
  'src/base/assert.ts#Bug': 'tests name it to tell a failed assertion from a fault',
  'src/base/random.ts#seededRandom': 'stands in for systemRandom wherever a run must be repeatable',
  'src/domain/draw/drawn-order.ts#positionsByNumber': 'the waiting line asks it for the place of a number',
  'src/domain/draw/join-chain.ts#joinSalt': 'the waiting line makes the salts of its joins with it',
  'src/wire/draw/record-text.ts#recordText': 'the published record of a draw is written with it',
}
