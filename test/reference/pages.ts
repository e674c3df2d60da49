/** The pages of `docs/reference/` that are made from the code. */

import { renderConfigurationReference } from '../../src/app/reference-configuration.ts'
import { renderErrorsReference } from '../../src/edge/docs/reference-errors.ts'
import { renderMetricsReference } from '../../src/telemetry/reference-metrics.ts'

export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/configuration.md': renderConfigurationReference,
  'docs/reference/errors.md': renderErrorsReference,
  'docs/reference/metrics.md': renderMetricsReference,
}
