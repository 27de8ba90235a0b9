// A contract wallet on the dev stack, with what the demo does not show: messages, a login, and NFTs in and out.

import { expect } from 'bun:test'
import { type Address, encodeDeployData, erc721Abi, getAddress, type Hex, size, toHex } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { addressAt, RECIPIENT, type Story, storyOf, textAt } from '../../devnet/demo-story.ts'
import type { DevJson } from '../../devnet/dev-json.ts'
import { testContract } from '../support/contracts.ts'

/** A network that a file adds: everything here works there as on those that are built in. */
const network = 'Harbor'
const ERC6492_MAGIC = '6492'.repeat(16)
const ETHER = 10n ** 18n

type World = Story & { readonly safe: Address; readonly credential: { readonly developer_secret: string } }

/** Its owner's key has coins for gas; the wallet itself has no coins and no code. */
const openSafe = async (story: Story): Promise<World> => {
  const credential = { developer_secret: story.secret }
  const wallet = { network, name: 'Walker', type: 'contract', control_mode: 'developer', ...credential }
  const safe = addressAt(await story.post('/wallets', wallet), 'address')
  const { error } = await story.refused('/transactions/sign-and-send', {
    ...{ network, signer_wallet_address: safe, ...credential },
    unsigned_transaction: { to: RECIPIENT },
  })
  const owner = error.slice(0, RECIPIENT.length) as Address
  await story.sendFromOutside(network, { to: owner, value: toHex(ETHER) })
  return { ...story, safe, credential }
}

const signed = async ({ post, safe, credential }: World, message: string): Promise<Hex> => {
  const body = { network, signer_wallet_address: safe, message, ...credential }
  return textAt(await post('/transactions/sign-message', body), 'signature') as Hex
}

/**
 * Checks that any node verifies the wallet's signature for this message only, and that the service accepts it as login.
 */
const proveControl = async (world: World, dev: DevJson): Promise<Hex> => {
  const { post, chainOf, safe: address } = world
  const signature = await signed(world, 'hello')
  const holds = (message: string) => chainOf(network).verifyMessage({ address, message, signature })
  expect([await holds('hello'), await holds('hullo')]).toEqual([true, false])

  const nonce = textAt(await post('/users/login-with-wallet', { sign_in_wallet: address }), 'nonce')
  const { host } = new URL(dev.base_url)
  const chainId = dev.networks[network]?.chain_id ?? 0
  const uri = `${dev.base_url}/login`
  const siwe_message = createSiweMessage({ domain: host, uri, version: '1', chainId, address, nonce })
  const session = await post('/users/verify-login', { siwe_message, signature: await signed(world, siwe_message) })
  expect(textAt(session, 'access_token')).toBeString()
  return signature
}

/** Mints from a foreign collection that lets only this wallet mint. */
const mintAndTransfer = async ({
  get,
  post,
  succeeded,
  activityOf,
  chainOf,
  sendFromOutside,
  safe,
  credential,
}: World) => {
  const { abi, bytecode } = await testContract('WizardCollection')
  const data = encodeDeployData({ abi, bytecode, args: ['Foreign', 'FRGN', safe] })
  const { contractAddress } = await sendFromOutside(network, { data })
  const contract_address = getAddress(contractAddress ?? '')
  const act = { network, from: safe, contract_address, ...credential }
  const ownerOf = () =>
    chainOf(network).readContract({ address: contract_address, abi: erc721Abi, functionName: 'ownerOf', args: [0n] })
  const told = async (done: unknown) =>
    activityOf({ network, address: safe, transactionHash: textAt(done, 'transaction_hash') })

  const minted = await succeeded(await post('/nfts/mint', { ...act, recipient: safe, uri: 'ipfs://one' }))
  expect(await ownerOf()).toBe(safe)
  expect(await told(minted)).toMatchObject({ type: 'receive_nft', wallet_address: safe })
  expect(await get('/nfts', { network, wallet_address: safe })).toMatchObject([
    {
      owner_wallet_address: safe,
      contract_address,
      token_id: '0',
    },
  ])
  const moved = await succeeded(await post('/nfts/transfer', { ...act, recipient: RECIPIENT, token_id: '0' }))
  expect(await ownerOf()).toBe(RECIPIENT)
  expect(await told(moved)).toMatchObject({ type: 'send_nft', wallet_address: safe })
  expect(await get('/nfts', { network, wallet_address: safe })).toEqual([])
}

const createCollection = async ({ get, post, succeeded, safe, credential }: World) => {
  const body = { network, from: safe, name: 'Gates', symbol: 'GATE', image_url: 'ipfs://gate', ...credential }
  const done = await succeeded(await post('/nfts/collections', body))
  const contract_address = addressAt(done, 'contract_address')
  const transaction_hash = textAt(done, 'transaction_hash')
  expect(await get('/transactions/status-by-hash', { network, transaction_hash })).toMatchObject({ contract_address })
  const collection = { contract_address, name: 'Gates', symbol: 'GATE' }
  expect(await get('/nfts/collections', { network, wallet_address: safe })).toMatchObject([collection])
  expect(await get('/nfts/collection-by-address', { contract_address })).toMatchObject(collection)
}

/** The developer of a user's wallet does what the user allowed, and nothing else. */
const delegate = async ({ post, refused, succeeded, sendFromOutside, credential }: World) => {
  const user_pin = '604913'
  const wallet = { network, name: 'Delegated', control_mode: 'user', user_pin }
  const from = addressAt(await post('/wallets', wallet), 'address')
  await sendFromOutside(network, { to: from, value: toHex(ETHER) })
  const argument_rules = [{ argument: 'to', operator: 'eq', value: RECIPIENT }]
  const policy = { network, wallet_address: from, argument_rules, user_pin, ...credential }
  const uuid = textAt(await post('/policies', policy), 'uuid')
  const pay = (to: string) => ({
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to, value: '1' },
    ...credential,
  })
  await succeeded(await post('/transactions/sign-and-send', pay(RECIPIENT)))
  expect(await refused('/transactions/sign-and-send', pay(from))).toMatchObject({ status: 403, code: 'policy_denied' })
  await post('/policies/revoke', { uuid, user_pin })
  // Without any policy the wallet is the user's alone.
  expect((await refused('/transactions/sign-and-send', pay(RECIPIENT))).code).toBe('credential_required')
}

/** Checks each step on the chain. */
export const walkContractWallet = async (dev: DevJson): Promise<void> => {
  const world = await openSafe(storyOf(dev))
  const codeOf = () => world.chainOf(network).getCode({ address: world.safe })
  expect(await proveControl(world, dev)).toEndWith(ERC6492_MAGIC)
  expect(await codeOf()).toBeUndefined()
  await mintAndTransfer(world)
  expect(await codeOf()).toBeDefined()
  expect(size(await proveControl(world, dev))).toBe(65)
  await createCollection(world)
  await delegate(world)
}
