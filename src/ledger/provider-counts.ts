/** How payment providers answered, over all processes: each writes what it has counted itself, from time to time. And what is open at each. */

/** What a process has counted of a provider, as it writes it; read by the code that wrote it, of this version or another. */
interface CountsOfProvider {
  readonly provider: string
  readonly counts: Readonly<Record<string, unknown>>
}

export interface OpenPayments {
  readonly provider: string
  /** Payments whose outcome is not known yet. */
  readonly started: number
  /** Refunds and parts of them that the provider has not confirmed. */
  readonly refundsDue: number
  /** Those of them that were tried more often than usual. */
  readonly refundsStuck: number
}

export interface ProviderCounts {
  /** In the place of what this process wrote before. Processes that have written nothing for a day are forgotten. */
  save(process: string, counts: readonly CountsOfProvider[]): Promise<void>
  ofOthers(process: string): Promise<readonly CountsOfProvider[]>
  open(triesUsual: number): Promise<readonly OpenPayments[]>
}
