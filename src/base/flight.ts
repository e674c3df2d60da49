/** What a process has decided lately, as a port: noting is cheap enough for refused clicks, keeps nothing for good, and never throws or waits. */

export interface Flight {
  /**
   * @param what from a closed list of words; the same again about the same, without an order, is only counted
   * @param about the sale or item it is about; empty: none
   * @param order the order it decided; empty: none
   */
  note(what: string, about: string, order: string): void
}
