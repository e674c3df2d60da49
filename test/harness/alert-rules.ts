/**
 * The alert rules that are shipped (`deploy/prometheus/`), as they are or with all their times made shorter: what takes minutes in
 * production is tested in seconds. Thresholds stay as they are.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readYaml } from './yaml.ts'

export const PROMTOOL = '/usr/bin/promtool'
export const RULES = resolve(import.meta.dirname, '../../deploy/prometheus/stampede.rules.yml')

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const rules = (): readonly Rule[] =>
  (readYaml(RULES) as [{ groups: { rules: Rule[] }[] }])[0].groups.flatMap(group => group.rules)

export function alertRules(): readonly (Rule & { readonly alert: string })[] {
  return rules().flatMap(rule => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]))
}

const SECONDS = { s: 1, m: 60, h: 3600 } as const

/** The file with every window and every `for` divided by this. Prometheus reads nothing below a millisecond. */
export function scaledRules(by: number): string {
  const shorter = (count: string, unit: string) =>
    `${Math.round((Number(count) * SECONDS[unit as keyof typeof SECONDS] * 1000) / by)}ms`
  return readFileSync(RULES, 'utf8')
    .replaceAll(/\[(\d+)([smh])\]/g, (_, count: string, unit: string) => `[${shorter(count, unit)}]`)
    .replaceAll(
      /(start_time_seconds <) (\d+)/g,
      (_, before: string, seconds: string) => `${before} ${Number(seconds) / by}`,
    )
    .replaceAll(
      /(for:) (\d+)([smh])\b/g,
      (_, word: string, count: string, unit: string) => `${word} ${shorter(count, unit)}`,
    )
}
