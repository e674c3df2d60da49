/** Where PostgreSQL's programs were found. */

export interface Binaries {
  /** The folder that holds `native/`. */
  readonly packageFolder: string
  /** As in package.json, e.g. `18.4.0`. */
  readonly version: string
}
