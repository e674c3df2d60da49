/** Public values that no one can know beforehand, fetched once they exist. */

export interface BeaconValue {
  readonly value: string
  /** What proves it. */
  readonly signature: string
}

export interface Beacons {
  /** The value of a round, checked. A fault if no server has it, or none that can be believed. */
  fetch(round: number): Promise<BeaconValue>
}
