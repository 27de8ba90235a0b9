import { expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createSbom } from '../deploy/sbom.ts'
import { dependencies } from '../package.json'
import { longTest } from './support/long.ts'

const Sbom = Type.Object({
  specVersion: Type.Literal('1.6'),
  components: Type.Array(
    Type.Object({
      'bom-ref': Type.String(),
      scope: Type.String(),
      purl: Type.String(),
      hashes: Type.Array(
        Type.Object({ alg: Type.Literal('SHA-512'), content: Type.String({ pattern: '^[0-9a-f]{128}$' }) }),
      ),
      licenses: Type.Optional(Type.Array(Type.Object({}))),
    }),
  ),
  dependencies: Type.Array(Type.Object({ ref: Type.String(), dependsOn: Type.Optional(Type.Array(Type.String())) })),
})

const read = async () => Value.Parse(Sbom, JSON.parse(await createSbom()))

test('the bill of materials has each package for production, and those that these need', async () => {
  const { components, dependencies: needs } = await read()
  const purls = components.map(({ purl }) => purl)
  const direct = Object.entries(dependencies).map(([name, version]) => `pkg:npm/${name.replace('@', '%40')}@${version}`)
  expect(purls).toEqual(expect.arrayContaining(direct))
  const needed = needs.find(({ ref }) => ref === 'strongroom')?.dependsOn
  expect(needed?.toSorted()).toEqual(Object.keys(dependencies).toSorted())
  // secp256k1 needs it, and does not load it without our code.
  expect(components.find(({ 'bom-ref': ref }) => ref === 'elliptic')?.scope).toBe('required')
})

longTest('it has none that is only for development', async () => {
  const refs = (await read()).components.map(({ 'bom-ref': ref }) => ref)
  for (const name of ['@biomejs/biome', 'solc', 'ethers', 'playwright-core', '@polkadot/api', 'strongroom-client']) {
    expect({ name, isThere: refs.includes(name) }).toEqual({ name, isThere: false })
  }
})

longTest('each package that is needed everywhere has a license', async () => {
  const without = (await read()).components.filter(
    ({ scope, licenses }) => scope === 'required' && licenses === undefined,
  )
  expect(without.map(({ 'bom-ref': ref }) => ref)).toEqual([])
})

longTest('the same packages give the same bytes', async () => {
  expect(await createSbom()).toBe(await createSbom())
})
