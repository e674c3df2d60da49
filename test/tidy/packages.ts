/** What npm reads: exact versions, a lock file without addresses, and a reason for everything we depend on. */

import { type Rule, tree } from './rule.ts'
import type { File } from './tree.ts'

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

function dependenciesOf(files: readonly File[]): [name: string, version: string][] {
  const text = files.find(file => file.path === 'package.json')?.text
  if (text === undefined) return []
  const manifest = JSON.parse(text) as Manifest
  return Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies })
}

const manifest = (dependencies: Record<string, string>) => JSON.stringify({ dependencies })

export const versionsExact: Rule = {
  name: 'package.json names exact versions',
  remedy: 'Write the version without ^ or ~; .npmrc makes npm do so.',
  check: files =>
    dependenciesOf(files)
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `package.json: ${name} is "${version}"`),
  breaks: ['^1.2.3', '~1.2.3', '1.2', '*', 'latest', 'github:a/b'].map(version =>
    tree('package.json', manifest({ a: version })),
  ),
  keeps: [tree('package.json', manifest({ a: '1.2.3', b: '18.4.0-beta.17' }))],
}

export const lockHasNoAddresses: Rule = {
  name: 'the lock file holds no download addresses and fits package.json',
  remedy: 'Run "rm -rf node_modules package-lock.json && npm install": .npmrc leaves the addresses out.',
  check(files) {
    const found: string[] = []
    const lock = files.find(file => file.path === 'package-lock.json')?.text
    if (lock === undefined) return ['package-lock.json: is missing']
    if (/"resolved"\s*:/.test(lock)) found.push('package-lock.json: holds "resolved"')
    if (/^\s*(@[\w-]+:)?registry\s*=/m.test(files.find(file => file.path === '.npmrc')?.text ?? ''))
      found.push('.npmrc: names a registry')
    const packages = (JSON.parse(lock) as { packages?: Record<string, { version?: string }> }).packages ?? {}
    for (const [name, version] of dependenciesOf(files)) {
      const locked = packages[`node_modules/${name}`]?.version
      if (locked !== version)
        found.push(`package-lock.json: has ${name} ${locked ?? 'not at all'}, package.json wants ${version}`)
    }
    return found
  },
  breaks: [
    tree('package.json', manifest({}), 'package-lock.json', '{"packages":{"node_modules/a":{"resolved":"x"}}}'),
    tree(
      'package.json',
      manifest({ a: '1.0.0' }),
      'package-lock.json',
      '{"packages":{"node_modules/a":{"version":"2.0.0"}}}',
    ),
    tree('package.json', manifest({})),
    tree('package-lock.json', '{}', '.npmrc', 'registry=somewhere'),
  ],
  keeps: [
    tree(
      'package.json',
      manifest({ a: '1.0.0' }),
      'package-lock.json',
      '{"packages":{"node_modules/a":{"version":"1.0.0"}}}',
    ),
  ],
}

const DEPENDENCIES = 'docs/dependencies.md'

export const dependenciesExplained: Rule = {
  name: 'every dependency has its sentence in docs/dependencies.md, and no other has one',
  remedy: `Add a line "- \`name\`: why it is here." to ${DEPENDENCIES}, or remove it there.`,
  check(files) {
    const text = files.find(file => file.path === DEPENDENCIES)?.text ?? ''
    const explained = new Set(Array.from(text.matchAll(/^- `([^`]+)`: .{15,}/gm), match => match[1] as string))
    const names = dependenciesOf(files).map(([name]) => name)
    return [
      ...names.filter(name => !explained.has(name)).map(name => `${DEPENDENCIES}: no sentence on ${name}`),
      ...Array.from(explained)
        .filter(name => !names.includes(name))
        .map(name => `${DEPENDENCIES}: ${name} is not in package.json`),
    ]
  },
  breaks: [
    tree('package.json', manifest({ a: '1.0.0' }), DEPENDENCIES, 'nothing'),
    tree('package.json', manifest({ a: '1.0.0' })),
    tree('package.json', manifest({}), DEPENDENCIES, '- `b`: does a thing nobody needs any more.'),
  ],
  keeps: [tree('package.json', manifest({ a: '1.0.0' }), DEPENDENCIES, '- `a`: does the thing we would not write.')],
}
