/** The dashboards of `deploy/grafana/` as files. Their queries are run in `test/cluster/alerts.long.test.ts`. */

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULES } from '../harness/alert-rules.ts'
import { dashboardQueries, dashboards } from '../harness/dashboards.ts'
import { readYaml } from '../harness/yaml.ts'
import { DEPLOY, ROOT } from './shipped.ts'

/** Of each metric in the reference: what it means. */
function meanings(): ReadonlyMap<string, string> {
  const page = readFileSync(join(ROOT, 'docs/reference/metrics.md'), 'utf8')
  const rows = page.matchAll(/^\| `(stampede_\w+)` \| \w+ \| .* \| (.*) \|$/gm)
  return new Map([...rows].map(([, name = '', meaning = '']) => [name, meaning]))
}

const namesIn = (text: string) =>
  new Set(text.match(/\bstampede_\w+/g)?.map(name => name.replace(/_(bucket|count|sum)$/, '')))

test('three dashboards, and each panel says in a sentence what it shows', () => {
  expect(
    dashboards()
      .map(({ uid }) => uid)
      .toSorted(),
  ).toEqual(['stampede-machine-room', 'stampede-money', 'stampede-sale'])
  for (const { title, panels } of dashboards())
    for (const panel of panels) {
      expect(panel.description, `${title}: ${panel.title}`).toMatch(/^\S.{20,200}\.$/)
      expect(panel.targets.length, `${title}: ${panel.title}`).toBeGreaterThan(0)
    }
})

test('they ask for no metric and no recorded ratio that is not there', () => {
  const queries = dashboardQueries().join('\n')
  const recorded = readFileSync(RULES, 'utf8').matchAll(/record: (\S+)/g)
  const known = new Set([...recorded].map(([, name]) => name))
  expect([...namesIn(queries)].filter(name => !meanings().has(name))).toEqual([])
  expect((queries.match(/\bstampede:[\w:]+/g) ?? []).filter(name => !known.has(name))).toEqual([])
})

test('each metric is in a dashboard or a rule, or the reference says in a sentence what it is for', () => {
  const used = namesIn(dashboardQueries().join('\n') + readFileSync(RULES, 'utf8'))
  const idle = [...meanings()].filter(([name, meaning]) => !used.has(name) && !/^[A-Z1].{10,}\.$/.test(meaning))
  expect(meanings().size).toBeGreaterThan(70)
  expect(idle).toEqual([])
})

test('Grafana is told where they are', () => {
  const [{ providers }] = readYaml(join(DEPLOY, 'grafana/provisioning/dashboards.yml')) as [
    { providers: { type: string; options: { path: string } }[] },
  ]
  expect(providers).toMatchObject([{ type: 'file', options: { path: '/var/lib/grafana/dashboards/stampede' } }])
})
