/**
 * Redis for the gate, the outbox, the channel and others: scripts, single commands, subscriptions. Connects in the background, again and
 * again; a call while it is away fails at once. What a failure means is in `faults.ts`: nothing was done, or the outcome is unknown. Such a
 * call is never sent twice, and nothing waits here for a server to come back. Does not know what scripts do.
 */

import type { Script } from './script.ts'

export interface RedisConnection {
  /** Runs a script by its digest, on the server of the first key; sends the text on NOSCRIPT (nothing had happened). */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** The same, for what is acknowledged: with `replica` durability it is on the replicas, or the outcome is unknown (E11). */
  runDurably(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** @param key whose server gets it, in a cluster; without one, any of them */
  command(args: readonly string[], key?: string): Promise<unknown>
  /** All keys are on one server at a time: one call may name keys of several items. */
  readonly oneServer: boolean
  /** These keys (the first of each script call), as groups that one call may name together: one server has them all. */
  together(keys: readonly string[]): readonly (readonly string[])[]
  /**
   * The name of the server that has this key, as far as it is known; the same for all keys where there is one server. A script that only
   * reads and declares it (`reads_across`) may be asked there for keys of any slot, named as arguments.
   */
  serverOf(key: string): string
  /** Every server that takes writes, as far as it is known now. */
  primaries(): readonly Primary[]
  /**
   * One channel by name, on a connection of its own, restored after a reconnect. Resolves when it is subscribed for the first time, or when
   * this is closed. `onGap` after every connect but the first: messages may have been missed.
   */
  subscribe(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void>
  /** Of the URL. Channels are shared by all databases of a server, so their names carry it. */
  readonly database: number
  readonly durability: Durability
  connected(): boolean
  /** Ends everything; calls under way fail with an unknown outcome. */
  close(): Promise<void>
}

export interface Primary {
  /** `host:port`. */
  readonly name: string
  /** Another number is another connection, perhaps to a restarted or another server. */
  readonly connection: number
  isUp(): boolean
  command(args: readonly string[]): Promise<unknown>
  /** With a reason, every script fails at once and nothing is done; undefined: scripts run again. */
  hold(why: string | undefined): void
}

export type Durability = 'disk' | 'replica' | 'memory'
