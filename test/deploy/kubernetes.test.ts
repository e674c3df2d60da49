import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../src/app/config/config.ts'
import { operationsCalls } from '../../src/wire/calls/operations-calls.ts'
import { equalKeys, readYaml } from '../harness/yaml.ts'
import { commandIsKnown, configFrom, DEPLOY, ROLES, ROOT, SECRET, stopSecondsMax } from './shipped.ts'

interface Probe {
  readonly periodSeconds: number
  readonly failureThreshold: number
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly args: readonly string[]
  readonly image: string
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly envFrom: readonly Record<string, { readonly name: string }>[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } }
  readonly resources: { readonly requests: Record<string, string>; readonly limits: Record<string, string> }
  readonly securityContext: Record<string, unknown>
}
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Record<string, string>
  readonly stringData?: Record<string, string>
  readonly spec: {
    readonly replicas: number
    readonly maxUnavailable?: number
    readonly selector: Record<string, unknown>
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly strategy: { readonly rollingUpdate: { readonly maxUnavailable: number; readonly maxSurge: number } }
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly affinity: { readonly podAntiAffinity: Record<string, readonly unknown[]> }
        readonly securityContext: Record<string, unknown>
        readonly containers: readonly Container[]
      }
    }
  }
}

/** More than an upgrade has brought so far. */
const MIGRATIONS_AT_ONCE = 10
const FOLDER = join(DEPLOY, 'kubernetes')
/** What `kubectl apply -f deploy/kubernetes/` would apply: it enters no folders. */
const applied = readdirSync(FOLDER, { withFileTypes: true })
  .filter(entry => entry.isFile())
  .flatMap(({ name }) => readYaml(join(FOLDER, name)) as Manifest[])
const manifests = [...applied, ...(readYaml(join(FOLDER, 'secret/example.yaml')) as Manifest[])]

function one(kind: string, name: string): Manifest {
  const found = manifests.filter(manifest => manifest.kind === kind && manifest.metadata.name === name)
  expect(found, `${kind} ${name}`).toHaveLength(1)
  return found[0] as Manifest
}

const configMap = one('ConfigMap', 'stampede').data ?? {}
const secret = one('Secret', 'stampede').stringData ?? {}
const filledIn = Object.fromEntries(
  Object.entries(secret).map(([name, value]) => [name, value.replace('CHANGE-ME', SECRET)]),
)
const container = (role: string) => one('Deployment', `stampede-${role}`).spec.template.spec.containers[0] as Container
const ownOf = (role: string) => Object.fromEntries(container(role).env.map(({ name, value }) => [name, value]))
/** The image says where to listen. */
const image = { HOST: '0.0.0.0', PORT: '8080' }

test('two equal keys in one mapping are noticed', () => {
  expect(equalKeys('a: 1\nb:\n  a: 2\n  c: 3\nc: 4\n')).toEqual([])
  expect(equalKeys('a: 1\nb:\n  c: 2\n  c: 3\n')).toEqual(['line 4: c stands there twice'])
  expect(equalKeys('a:\n  - b: 1\n    c: 2\n  - b: 1\n    c: 2\nd: 1\na: 2')).toEqual(['line 7: a stands there twice'])
  expect(equalKeys('a: 1\n---\na: 1\n')).toEqual([])
})

test('every role has a Deployment whose process starts in that role with what it is given', () => {
  for (const role of ROLES) {
    const config = configFrom({ ...image, ...configMap, ...filledIn, ...ownOf(role) })
    expect(config.roles).toEqual([role])
    expect(container(role).envFrom).toEqual([
      { configMapRef: { name: 'stampede' } },
      { secretRef: { name: 'stampede' } },
    ])
    commandIsKnown(container(role).args)
  }
})

test('applying the folder leaves the Secret alone that is there', () => {
  expect(applied.length).toBeGreaterThan(5)
  expect(applied.filter(({ kind }) => kind === 'Secret')).toEqual([])
})

test('nobody starts with the secrets of the example', () => {
  expect(() => configFrom({ ...image, ...configMap, ...secret, ROLES: 'edge' })).toThrow(ConfigError)
  expect(() => configFrom({ ...image, ...configMap, ...filledIn, TICKET_KEYS: secret.TICKET_KEYS ?? '' })).toThrow()
})

test('probes ask where the code answers: alive to be left alone, ready to get traffic', () => {
  for (const role of ROLES) {
    const { ports, startupProbe, livenessProbe, readinessProbe } = container(role)
    const config = configFrom({ ...image, ...configMap, ...filledIn, ...ownOf(role) })
    expect(ports).toEqual([
      { name: 'http', containerPort: config.port },
      { name: 'metrics', containerPort: config.metricsPort as number },
    ])
    expect(config.metricsHost).toBe('0.0.0.0')
    expect(startupProbe.httpGet).toEqual({ path: operationsCalls.alive.path, port: 'http' })
    expect(livenessProbe.httpGet).toEqual({ path: operationsCalls.alive.path, port: 'http' })
    expect(readinessProbe.httpGet).toEqual({ path: operationsCalls.ready.path, port: 'http' })
    const { annotations } = one('Deployment', `stampede-${role}`).spec.template.metadata
    expect(annotations['prometheus.io/port']).toBe(String(config.metricsPort))
  }
})

test('nobody is killed while migrations wait for their tables', () => {
  const source = readFileSync(join(ROOT, 'src/ledger/postgres/connection/migrate.ts'), 'utf8')
  const tryMs = Number(/^const TRY_MS = ([\d_]+)$/m.exec(source)?.[1]?.replaceAll('_', ''))
  expect(tryMs).toBeGreaterThan(0)
  for (const role of ROLES) {
    const { periodSeconds, failureThreshold } = container(role).startupProbe
    expect(periodSeconds * failureThreshold * 1000).toBeGreaterThanOrEqual(MIGRATIONS_AT_ONCE * tryMs)
  }
})

test('nobody is killed before the drain is over', () => {
  for (const role of ROLES) {
    const { terminationGracePeriodSeconds } = one('Deployment', `stampede-${role}`).spec.template.spec
    const [program = 'sleep', seconds = '0'] = container(role).lifecycle?.preStop.exec.command ?? []
    expect(program).toBe('sleep')
    const config = configFrom({ ...image, ...configMap, ...filledIn, ...ownOf(role) })
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + stopSecondsMax(config))
  }
  expect(container('edge').lifecycle).toBeDefined()
})

test('a node that is emptied, and an upgrade, take one of each at a time', () => {
  for (const role of ROLES) {
    const { spec } = one('Deployment', `stampede-${role}`)
    const budget = one('PodDisruptionBudget', `stampede-${role}`)
    const labels = { app: 'stampede', role }
    expect(spec.replicas).toBeGreaterThanOrEqual(2)
    expect(spec.selector).toEqual({ matchLabels: labels })
    expect(spec.template.metadata.labels).toEqual(labels)
    expect(budget.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: labels } } as never)
    const { maxUnavailable, maxSurge } = spec.strategy.rollingUpdate
    expect(maxUnavailable + maxSurge).toBe(1)
    expect(JSON.stringify(spec.template.spec.affinity.podAntiAffinity)).toContain('kubernetes.io/hostname')
  }
  expect(one('Deployment', 'stampede-edge').spec.replicas).toBeGreaterThanOrEqual(3)
  const { spec } = one('Service', 'stampede-edge')
  expect(spec.selector).toEqual({ app: 'stampede', role: 'edge' })
  expect(spec.ports?.[0]?.targetPort).toBe('http')
})

test('processes run as nobody in particular, write nowhere, and have memory of their own', () => {
  for (const role of ROLES) {
    const { securityContext } = one('Deployment', `stampede-${role}`).spec.template.spec
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 })
    expect(container(role).securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    })
    expect(Object.keys(container(role).resources.requests)).toEqual(['cpu', 'memory'])
    expect(Object.keys(container(role).resources.limits)).toEqual(['memory'])
  }
})

test('everything lies in one namespace', () => {
  for (const { kind, metadata } of manifests) if (kind !== 'Namespace') expect(metadata.namespace).toBe('stampede')
})
