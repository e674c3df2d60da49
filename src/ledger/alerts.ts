/**
 * Troubles in the ledger: what all processes together see to be wrong, the messages about it, and how far each channel has been told. A trouble
 * is known by its key, so that it is told once however many processes see it. Does not know what a message looks like, or how it is sent.
 */

/** As a process sees it; kept as it is. */
type KeptTrouble = Readonly<Record<string, unknown>>

interface SeenTrouble {
  readonly key: string
  /** Its begin was told already, past the ledger. */
  readonly told: boolean
  readonly trouble: KeptTrouble
}

export interface AlertEntry {
  readonly no: number
  readonly kind: 'began' | 'ended'
  readonly trouble: KeptTrouble
  readonly beganAtMs: number
  /** Of an end: when it was last seen. */
  readonly atMs: number
  readonly ageMs: number
  /** How often it has begun since it was last told. */
  readonly times: number
}

export interface ChannelState {
  readonly channel: string
  readonly waiting: number
  readonly failingSinceMs: number | undefined
  readonly problem: string | undefined
  readonly toldAtMs: number | undefined
}

interface Settled {
  readonly upTo: number
  readonly nextInMs: number
  /** That failed in a row; 0: none. */
  readonly tries: number
  readonly problem: string | undefined
  readonly told: boolean
}

export interface Alerts {
  note(seen: readonly SeenTrouble[], terms: { quietMs: number; repeatMs: number; mayEnd: boolean }): Promise<void>
  /** A new channel is told what happens from now on. */
  open(channels: readonly string[]): Promise<void>
  /** Undefined: nothing is to be told now, or another process does it. */
  claim(
    channel: string,
    holder: string,
    terms: { readonly holdMs: number; readonly max: number },
  ): Promise<{ readonly entries: readonly AlertEntry[]; readonly tries: number } | undefined>
  /** False: another process has the channel meanwhile. */
  settle(channel: string, holder: string, settled: Settled): Promise<boolean>
  channels(names: readonly string[]): Promise<readonly ChannelState[]>
}
