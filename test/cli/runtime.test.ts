import { expect, test } from 'bun:test'
import { runCli } from '../support/cli.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { LOCAL_METADATA_PINS, startSubstrateChain } from '../support/substrate.ts'

const chain = await shared(startSubstrateChain('Polkadot'))
const service = await shared(startService({ rpcUrls: { Polkadot: chain.wsUrl } }))

const pin = (...args: readonly string[]) =>
  runCli(['runtime', 'pin', ...args], { ...service.variables, POLKADOT_METADATA_PIN: '', VAULT_SOCKET: '' })

test('prints a pin that the configuration accepts', async () => {
  const { exitCode, output } = await pin('Polkadot')
  expect({ exitCode, output }).toEqual({
    exitCode: 0,
    output: `POLKADOT_METADATA_PIN=${LOCAL_METADATA_PINS.split(' ')[0]}\n`,
  })
  const { output: json } = await pin('Polkadot', '--json', '--url', chain.rpcUrl)
  expect(JSON.parse(json)).toMatchObject({ network: 'Polkadot', spec_version: 900, is_covered: false })
})

test('reports a missing node and a node of another chain', async () => {
  expect((await pin('Vara')).errors).toBe('The configuration has no node of Vara: name one with --url.\n')
  const other = await pin('Vara', '--url', chain.rpcUrl)
  expect([other.exitCode, other.output]).toEqual([1, ''])
  expect(other.errors).toStartWith('The Vara node answers for the genesis block')
})
