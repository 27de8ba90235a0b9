// `bun run sbom`: what a release consists of, as CycloneDX: the packages of bun.lock that are installed for production, with
// their checksums, licenses and dependencies. The same commit gives the same bytes.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Contrib, Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { parse } from 'jsonc-parser'
import { PackageURL } from 'packageurl-js'
import { license, name, version } from '../package.json'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PATH = join(ROOT, 'strongroom.cdx.json')
const SPEC = Spec.Version.v1dot6

const Ranges = Type.Optional(Type.Record(Type.String(), Type.String()))
const Needs = Type.Object({
  dependencies: Ranges,
  optionalDependencies: Ranges,
  peerDependencies: Ranges,
  optionalPeers: Type.Optional(Type.Array(Type.String())),
})
const FromRegistry = Type.Tuple([Type.String(), Type.String(), Needs, Type.String()])
const Lock = Type.Object({
  workspaces: Type.Object({ '': Needs }),
  packages: Type.Record(Type.String(), Type.Union([FromRegistry, Type.Tuple([Type.String()])])),
})
const Manifest = Type.Object({ license: Type.Optional(Type.String()) })

type Package = { readonly key: string; readonly isOptional: boolean; readonly needs: Static<typeof Needs> }

/** The keys of packages that `key` finds before others: `a/b/c` has c of b of a. A scope belongs to its name. */
const placesOf = (key: string): readonly string[] => {
  const names = key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? []
  return names.map((_, index) => names.slice(0, names.length - index).join('/'))
}

const wantedBy = ({
  dependencies,
  optionalDependencies,
  peerDependencies,
  optionalPeers = [],
}: Static<typeof Needs>) => [
  ...Object.keys(dependencies ?? {}).map((dependency) => ({ dependency, isOptional: false })),
  ...Object.keys(optionalDependencies ?? {}).map((dependency) => ({ dependency, isOptional: true })),
  ...Object.keys(peerDependencies ?? {})
    .filter((dependency) => !optionalPeers.includes(dependency))
    .map((dependency) => ({ dependency, isOptional: false })),
]

const readLock = () => {
  const { workspaces, packages } = Value.Parse(
    Lock,
    parse(readFileSync(join(ROOT, 'bun.lock'), 'utf8'), [], { allowTrailingComma: true }),
  )
  const find = (from: string, dependency: string): string | null =>
    [...placesOf(from).map((place) => `${place}/${dependency}`), dependency].find((key) => key in packages) ?? null
  return { root: workspaces[''], packages, find }
}

/** The packages that are installed for production, in the order of their keys. */
const closure = (): readonly (Package & {
  readonly entry: Static<typeof FromRegistry>
  readonly needed: readonly string[]
})[] => {
  const { root, packages, find } = readLock()
  const found = new Map<string, boolean>()
  const queue: Package[] = [{ key: '', isOptional: false, needs: { dependencies: root.dependencies ?? {} } }]
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
    for (const { dependency, isOptional } of wantedBy(one.needs)) {
      const key = find(one.key, dependency)
      const entry = key === null ? undefined : packages[key]
      if (key === null || entry?.length !== 4)
        throw new Error(`bun.lock has no package ${dependency} for ${one.key || name}.`)
      const only = one.isOptional || isOptional
      // Optional until something needs it.
      if (found.has(key) && (only || found.get(key) === false)) continue
      found.set(key, only)
      queue.push({ key, isOptional: only, needs: entry[2] })
    }
  }
  return [...found].sort().map(([key, isOptional]) => {
    const entry = packages[key]
    if (entry?.length !== 4) throw new Error(`bun.lock has no package ${key}.`)
    const needed = wantedBy(entry[2]).map(({ dependency }) => find(key, dependency) ?? '')
    return { key, isOptional, needs: entry[2], entry, needed }
  })
}

/** The folder of a package: `a/b` is in `node_modules/a/node_modules/b`. */
const folderOf = (key: string) =>
  (key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? []).reduce((folder, each) => join(folder, 'node_modules', each), ROOT)

const licenses = new Contrib.License.Factories.LicenseFactory((await import('spdx-expression-parse')).default)

const componentOf = (id: string, input: { readonly integrity: string; readonly key: string }): Models.Component => {
  const at = id.lastIndexOf('@')
  const [scope, ...rest] = id.slice(0, at).split('/')
  const [group, packageName] = rest.length > 0 ? [scope, rest.join('/')] : [undefined, scope ?? '']
  const purl = new PackageURL('npm', group, packageName, id.slice(at + 1), undefined, undefined)
  const component = new Models.Component(Enums.ComponentType.Library, packageName, {
    group,
    version: id.slice(at + 1),
    bomRef: input.key,
    purl: purl.toString(),
  })
  const [algorithm, digest = ''] = input.integrity.split('-')
  if (algorithm !== 'sha512') throw new Error(`The checksum of ${id} must be sha512.`)
  component.hashes.set(Enums.HashAlgorithm['SHA-512'], Buffer.from(digest, 'base64').toString('hex'))
  // Packages for other machines are not installed here.
  const path = join(folderOf(input.key), 'package.json')
  const told = existsSync(path) ? Value.Decode(Manifest, JSON.parse(readFileSync(path, 'utf8'))).license : undefined
  if (told !== undefined) component.licenses.add(licenses.makeFromString(told))
  return component
}

/** The document. @throws Error if it does not fit the schema of CycloneDX. */
export const createSbom = async (): Promise<string> => {
  const product = new Models.Component(Enums.ComponentType.Application, name, { version, bomRef: name })
  product.licenses.add(licenses.makeFromString(license))
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: product }) })
  const all = closure()
  const components = new Map(
    all.map(({ key, entry, isOptional }) => {
      const component = componentOf(entry[0], { integrity: entry[3], key })
      component.scope = isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required
      return [key, component] as const
    }),
  )
  const connect = (from: Models.Component, keys: readonly string[]) => {
    for (const key of keys) {
      const to = components.get(key)
      if (to !== undefined) from.dependencies.add(to.bomRef)
    }
  }
  for (const component of components.values()) bom.components.add(component)
  for (const { key, needed } of all) connect(components.get(key) ?? product, needed)
  connect(product, Object.keys(readLock().root.dependencies ?? {}))
  const serializer = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)
  const text = `${new Serialize.JsonSerializer(serializer).serialize(bom, { sortLists: true, space: 2 })}\n`
  const wrong = await new Validation.JsonStrictValidator(SPEC).validate(text)
  if (wrong !== null) throw new Error('The document does not fit the schema of CycloneDX.', { cause: wrong })
  return text
}

if (import.meta.main) {
  writeFileSync(PATH, await createSbom())
  process.stdout.write(`${PATH}\n`)
}
