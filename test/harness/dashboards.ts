/** The dashboards that are shipped (`deploy/grafana/`): their panels, and every query in them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '../../deploy/grafana')

interface Panel {
  readonly title: string
  readonly description: string
  readonly targets: readonly { readonly expr: string }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
}

export function dashboards(): readonly Dashboard[] {
  const files = readdirSync(FOLDER).filter(file => file.endsWith('.json'))
  return files.map(file => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard)
}

export function dashboardQueries(): readonly string[] {
  const panels = dashboards().flatMap(dashboard => dashboard.panels)
  return [...new Set(panels.flatMap(panel => panel.targets.map(target => target.expr)))]
}
