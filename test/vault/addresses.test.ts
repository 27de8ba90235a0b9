import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { createNodelessEvmChain } from '../../src/chains/evm/nodeless.ts'
import { deriveContractWallet } from '../../src/chains/evm/safe/settings.ts'
import { createNodelessSubstrateChain } from '../../src/chains/substrate/nodeless.ts'
import { networkRows } from '../../src/platform/networks.ts'
import { addressOf } from '../../src/vault/rooms/keys/key-types.ts'
import { bytesOf } from './support.ts'

const rows = networkRows({ environment: 'testnet', devnet: false })

test.each(rows.map((row) => [row.network, row] as const))("on %s they agree with the chain's own", (_network, row) => {
  const chain = row.family === 'evm' ? createNodelessEvmChain(row) : createNodelessSubstrateChain(row)
  for (let keys = 0; keys < 50; keys += 1) {
    const publicKey =
      row.family === 'evm'
        ? secp256k1.getPublicKey(secp256k1.utils.randomSecretKey(), false)
        : new Uint8Array(keys === 0 ? Buffer.alloc(32) : randomBytes(32))
    const address = chain.addressOf(publicKey)
    expect(addressOf({ chain: row, type: 'eoa', publicKey })).toBe(address)
    const contract = () => addressOf({ chain: row, type: 'contract', publicKey })
    if (row.family === 'evm') expect(contract()).toBe(deriveContractWallet(address).address)
    else expect(contract).toThrow('expected a network with contract wallets')
  }
})

test('they agree with published addresses', () => {
  // The first account of Hardhat and anvil.
  const privateKey = bytesOf('ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const evm = { chain: { family: 'evm' }, type: 'eoa', publicKey: secp256k1.getPublicKey(privateKey, false) } as const
  expect(addressOf(evm)).toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  // Alice of Substrate's development chains (`subkey inspect //Alice`), with the prefixes 0, 42 and 137.
  const publicKey = bytesOf('d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d')
  const alice = (ss58Prefix: number) =>
    addressOf({ chain: { family: 'substrate', ss58Prefix }, type: 'eoa', publicKey })
  expect([0, 42, 137].map(alice)).toEqual([
    '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
    '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY',
    'kGkLEU3e3XXkJp2WK4eNpVmSab5xUNL9QtmLPh8QfCL2EgotW',
  ])
})
