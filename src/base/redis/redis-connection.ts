/**
 * Redis, as the gate, the outbox, the channel and others use it: scripts, single commands, subscriptions. Connects in the background and stays
 * at it; a call while it is away fails at once. What a failure means is in `faults.ts`: nothing was done, or nobody knows. Nothing is ever
 * sent twice whose outcome is unknown, and nothing waits here for a server to come back. Does not know what scripts do.
 */

import type { Script } from './script.ts'

export interface RedisConnection {
  /** Runs a script by its digest, where the first key is; hands the text in on NOSCRIPT (nothing had happened). */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** The same, for what is told to somebody as done: with `replica` durability it is on the replicas, or the outcome is unknown (E11). */
  runDurably(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** @param key where it goes, if servers share the keys; without one, to any of them */
  command(args: readonly string[], key?: string): Promise<unknown>
  /** These keys (the first of each script call), as groups that one call may name together: one server has them all. */
  together(keys: readonly string[]): readonly (readonly string[])[]
  /** Every server that takes writes, as far as it is known now. */
  primaries(): readonly Primary[]
  /**
   * One channel by name, on a connection of its own, restored after a reconnect. Resolves when it stands for the first time, or when
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
  /** Another number, another connection: what was seen of the server before may have been another run of it, or another server. */
  readonly connection: number
  isUp(): boolean
  command(args: readonly string[]): Promise<unknown>
  /** Until this is taken back (undefined) no script is run there: it fails at once, and nothing was done. */
  hold(why: string | undefined): void
}

export type Durability = 'disk' | 'replica' | 'memory'
