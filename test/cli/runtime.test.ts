import { expect, test } from 'bun:test'
import { runCli } from '../support/cli.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { LOCAL_METADATA_PINS, startSubstrateChain } from '../support/substrate.ts'

const chain = await shared(startSubstrateChain('Vara'))
const service = await shared(startService({ rpcUrls: { Vara: chain.wsUrl } }))

const pin = (...args: readonly string[]) =>
  runCli(['runtime', 'pin', ...args], { ...service.variables, VARA_METADATA_PIN: '', VAULT_SOCKET: '' })

test('prints a pin that the configuration accepts', async () => {
  const { exitCode, output } = await pin('Vara')
  expect({ exitCode, output }).toEqual({
    exitCode: 0,
    output: `VARA_METADATA_PIN=${LOCAL_METADATA_PINS.split(' ')[0]}\n`,
  })
  const { output: json } = await pin('Vara', '--json', '--url', chain.rpcUrl)
  expect(JSON.parse(json)).toMatchObject({ network: 'Vara', spec_version: 900, is_covered: false })
})

test('reports a missing node and a node of another chain', async () => {
  expect((await pin('Polkadot')).errors).toBe('The configuration has no node of Polkadot: name one with --url.\n')
  const other = await pin('Polkadot', '--url', chain.rpcUrl)
  expect([other.exitCode, other.output]).toEqual([1, ''])
  expect(other.errors).toStartWith('The Polkadot node answers for the genesis block')
})
