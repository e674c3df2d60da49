/** How things are called in Redis. All keys of an item carry its hash tag; the scripts build the same names from each other (`lib.lua`). */

import type { Epoch, ItemId } from '../../domain/ids.ts'

export const gateKey = (item: ItemId) => `{${item}}:gate`
export const buyersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:buyers`
export const ordersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:orders`
export const outboxKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:outbox`
export const outboxesKey = (item: ItemId) => `{${item}}:outboxes`
export const workerKey = (item: ItemId) => `{${item}}:worker`

/** Where processes talk to each other. Channels know no databases. */
export const messageChannel = (database: number) => `stampede:${database}:news`
