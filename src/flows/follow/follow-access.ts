/** An edge follows the access list: one small statement a round, and the whole list when it has changed. Without an answer the last one counts. */

import type { AccessLists } from '../../admission/access-lists.ts'
import type { AccessList } from '../../ledger/access.ts'

export class AccessFollower {
  readonly #access: Pick<AccessList, 'since'>
  readonly #lists: AccessLists
  #revision = 0

  constructor(access: Pick<AccessList, 'since'>, lists: AccessLists) {
    this.#access = access
    this.#lists = lists
  }

  async round(): Promise<void> {
    const changed = await this.#access.since(this.#revision)
    if (changed === undefined) return
    this.#lists.replace(changed.entries)
    this.#revision = changed.revision
  }
}
