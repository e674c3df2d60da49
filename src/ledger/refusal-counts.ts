/** Whom the processes have turned away lately, and why: each writes what it has counted itself, from time to time. */

/** As a process writes it; read by the code that wrote it, of this version or another. */
type Counts = Readonly<Record<string, unknown>>

export interface RefusalCounts {
  /** In the place of what this process wrote before. Processes that have written nothing for an hour are forgotten. */
  save(process: string, counts: Counts): Promise<void>
  /** Of those that wrote something within 20 minutes. */
  ofOthers(process: string): Promise<readonly Counts[]>
}
