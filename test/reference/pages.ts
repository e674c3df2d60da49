/** The pages of `docs/reference/` that are made from the code. */

import { renderConfigurationReference } from './configuration.ts'
import { renderErrorsReference } from './errors.ts'
import { renderMetricsReference } from './metrics.ts'

export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/configuration.md': renderConfigurationReference,
  'docs/reference/errors.md': renderErrorsReference,
  'docs/reference/metrics.md': renderMetricsReference,
}
