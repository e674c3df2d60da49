/** Images that operators uploaded, by a name that says what is in them. Nothing here is deleted: an old sale shows its pictures for good. */

export interface Images {
  /** False: there is no room. The same image again is kept once. */
  add(name: string, bytes: Uint8Array, by: string): Promise<boolean>
  find(name: string): Promise<Uint8Array<ArrayBuffer> | undefined>
}
