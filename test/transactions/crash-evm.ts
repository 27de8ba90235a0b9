// An EVM chain for the crash tests: keys and Safes that pay, move tokens and mint.

import { randomBytes } from 'node:crypto'
import { type Address, getAddress, type Hex, parseAbi, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { LOGICAL, startMortalPostgres } from '../support/mortal-postgres.ts'
import { createDatabaseOn } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import type { Blocks, Ground, Intent, Mined, Signer } from './crash-ground.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const SIGNERS = 4
const PIN = '493817'
const POLICY_USES = 1_000_000
const TOKENS = 1_000_000n
const TOKEN_ID = 1n
const BLOCK_TIME_MS = 250
/** With one slot per epoch, a block is final when two blocks are above it. */
const BLOCKS_TO_FINAL = 3

const ERC721 = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
const ERC1155 = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

const startSigner = async (service: Service, chain: TestChain): Promise<Signer & { readonly address: Address }> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  const collection = await chain.deploy('WizardCollection', ['Doors', 'DOOR', address])
  return { address, owner: address, collection: collection.address }
}

/** A Safe with coins for itself and for its key, not deployed yet. */
const startSafe = async (service: Service, chain: TestChain): Promise<Signer> => {
  const key = generatePrivateKey()
  const control = { control_mode: 'developer', developer_secret: SECRET }
  const { json } = await service.post('/wallets/import', {
    ...{ network, type: 'contract', name: 'A Safe', private_key: key, ...control },
  })
  const owner = privateKeyToAddress(key)
  await Promise.all([chain.fund(owner), chain.fund(json.address)])
  return { address: json.address, owner, collection: null }
}

/** A user's wallet that the developer uses by a policy. */
const startDelegated = async (service: Service, chain: TestChain): Promise<Signer> => {
  const { address } = await service.newWallet({ network, pin: PIN })
  await chain.fund(address)
  const { status, text } = await service.post('/policies', {
    ...{ network, wallet_address: address, user_pin: PIN },
    argument_rules: [{ argument: 'value', operator: 'ge', value: '0' }],
    ...{ max_uses: POLICY_USES, max_total_value: String(10n ** 18n), max_total_fee: String(10n ** 27n) },
  })
  if (status !== 200) throw new Error(text)
  return { address, owner: address, collection: null }
}

/** The requests to the API. All transferred tokens belong to one ERC-1155 contract. */
const requestOf = (
  intent: Intent,
  of: { readonly token: Address; readonly collection: string | null; readonly delegated: string },
) => {
  const { kind, signer, recipient, value } = intent
  const common = { network, developer_secret: SECRET }
  const nft = { ...common, from: signer, recipient }
  const contract_address = of.collection
  switch (kind) {
    case 'pay':
    case 'pay by policy': {
      const unsigned_transaction = { to: recipient, value: String(value) }
      const signer_wallet_address = kind === 'pay' ? signer : of.delegated
      const body = { ...common, signer_wallet_address, unsigned_transaction }
      return { path: '/transactions/sign-and-send', body }
    }
    case 'transfer':
      return { path: '/nfts/transfer', body: { ...nft, contract_address: of.token, token_id: String(TOKEN_ID) } }
    case 'mint':
      return { path: '/nfts/mint', body: { ...nft, contract_address, uri: `https://example.com/${recipient}` } }
    case 'mint with metadata': {
      const metadata = { name: recipient, description: '', image: 'https://example.com/d.png' }
      return { path: '/nfts/mint', body: { ...nft, contract_address, metadata } }
    }
  }
}

const createScan = ({ publicClient }: TestChain, signers: readonly Signer[]) => {
  const mined: Mined[] = []
  let scanned = 0n
  return async (): Promise<readonly Mined[]> => {
    const ours = new Set(signers.map(({ owner }) => owner))
    const latest = await publicClient.getBlockNumber({ cacheTime: 0 })
    for (; scanned < latest; scanned += 1n) {
      const block = await publicClient.getBlock({ blockNumber: scanned + 1n, includeTransactions: true })
      for (const { hash, from, nonce, blockHash } of block.transactions) {
        const address = getAddress(from)
        if (ours.has(address)) mined.push({ hash, from: address, nonce, blockHash })
      }
    }
    return mined
  }
}

const effectOf = (
  { publicClient }: TestChain,
  intent: Intent,
  of: { readonly token: Address; readonly collection: string | null },
): Promise<bigint> => {
  const recipient = intent.recipient as Address
  const functionName = 'balanceOf'
  switch (intent.kind) {
    case 'pay':
    case 'pay by policy':
      return publicClient.getBalance({ address: recipient })
    case 'transfer':
      return publicClient.readContract({ address: of.token, abi: ERC1155, functionName, args: [recipient, TOKEN_ID] })
    case 'mint':
    case 'mint with metadata': {
      const address = of.collection as Hex
      return publicClient.readContract({ address, abi: ERC721, functionName, args: [recipient] })
    }
  }
}

/** A chain with its contracts, and signers with everything that they need. */
export const startEvmGround = async (blocks: Blocks): Promise<Ground> => {
  const chain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  await deployCanonicalContracts(chain.rpcUrl)
  const server = await startMortalPostgres(LOGICAL)
  const database = await createDatabaseOn(server.url)
  const service = await startService({ rpcUrls: { [network]: chain.rpcUrl }, database })
  const token = await chain.deploy('MultiToken', ['', fundedAccount(0).address])
  const signers: Signer[] = []
  for (let each = 0; each < SIGNERS; each += 1) {
    const signer = await startSigner(service, chain)
    const args = [signer.address, TOKEN_ID, TOKENS, '0x']
    await chain.write({ contract: token, functionName: 'mint', args })
    signers.push(signer)
  }
  // Not one of the signers that runs choose from.
  const delegated = await startDelegated(service, chain)
  signers.push(delegated)
  const sql = server.connect()
  const clock = blocks === 'by clock' ? setInterval(() => void chain.mine().catch(() => {}), BLOCK_TIME_MS) : null
  if (clock !== null) await chain.setAutomine(false)
  const contractsOf = ({ signer }: Intent) => ({
    token: token.address,
    delegated: delegated.address,
    collection: signers.find(({ address }) => address === signer)?.collection ?? null,
  })
  return {
    ...{ network, server, service, sql, signers, hasCancel: true, sending: 'eth_sendRawTransaction' },
    node: { variable: 'ETHEREUM_RPC_URL', rpcUrl: chain.rpcUrl },
    awayMs: [0, 0, 250],
    kinds: ['pay', 'pay', 'pay by policy', 'transfer', 'mint', 'mint with metadata'],
    leastValue: 1n,
    // A new Safe: its first transaction deploys it.
    newSigner: async () => {
      const safe = await startSafe(service, chain)
      signers.push(safe)
      return safe
    },
    newRecipient: () => getAddress(toHex(randomBytes(20))),
    requestOf: (intent) => requestOf(intent, contractsOf(intent)),
    wordOf: (recipient) => recipient.slice(2).toLowerCase(),
    endAll: async () => {
      if (clock === null) await chain.mine(BLOCKS_TO_FINAL)
    },
    scan: createScan(chain, signers),
    countsOf: (owner) => {
      const address = owner as Address
      const tags = ['latest', 'pending'] as const
      return Promise.all(tags.map((blockTag) => chain.publicClient.getTransactionCount({ address, blockTag })))
    },
    effectOf: (intent) => effectOf(chain, intent, contractsOf(intent)),
    troublesOfBalances: async () => [],
    close: async () => {
      if (clock !== null) clearInterval(clock)
      await sql.end()
      await service.close()
      await server.stop()
      await chain.stop()
    },
  }
}
