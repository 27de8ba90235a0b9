import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  erc20Abi,
  erc721Abi,
  formatEther,
  parseAbi,
  parseEther,
} from 'viem'
import { compile } from '../src/chains/evm/contracts/compile.ts'
import {
  addressAt,
  type DemoStep,
  hold,
  madeIn,
  NETWORK,
  PIN,
  RECIPIENT,
  type Story,
  short,
  textAt,
} from './demo-story.ts'
import { EVM_NAMES } from './networks.ts'

const AMOUNT = parseEther('2')

/** Foreign contracts: OpenZeppelin's, compiled from the tests' sources. */
const foreignContract = (name: 'WizardCollection' | 'TestToken') => {
  const source = readFileSync(new URL(`../test/contracts/${name}.sol`, import.meta.url), 'utf8')
  const contract = compile({ [`${name}.sol`]: source })[name]
  hold(contract !== undefined, `${name} did not compile.`)
  return { abi: contract.abi as readonly unknown[] as Abi, bytecode: contract.bytecode }
}

const wallets: DemoStep = {
  title: 'One owner, five EVM networks, one address',
  run: async (story) => {
    const owner_id = randomUUID()
    const made = await Promise.all(
      EVM_NAMES.map((network) =>
        story.post('/wallets', { network, name: 'Alice', owner_id, control_mode: 'user', user_pin: PIN }),
      ),
    )
    const addresses = new Set(made.map((wallet) => addressAt(wallet, 'address')))
    hold(addresses.size === 1, `The owner has ${addresses.size} addresses.`)
    const [alice] = addresses
    hold(alice !== undefined, 'The owner has no address.')
    story.made.set('alice', alice)
    for (const network of EVM_NAMES) {
      const code = await story.chainOf(network).getCode({ address: alice })
      hold(code === undefined, `${alice} has code on ${network}.`)
    }
    return `${short(alice)} on ${EVM_NAMES.join(', ')}`
  },
}

const fund: DemoStep = {
  title: 'Sign and send: the project wallet pays her',
  run: async (story) => {
    const [alice, from] = [madeIn(story, 'alice'), await story.projectWallet(NETWORK)]
    story.made.set('project', from)
    const sent = await story.post('/transactions/sign-and-send', {
      network: NETWORK,
      signer_wallet_address: from,
      unsigned_transaction: { to: alice, value: AMOUNT.toString() },
      developer_secret: story.secret,
    })
    await story.succeeded(sent)
    const balance = await story.chainOf(NETWORK).getBalance({ address: alice })
    hold(balance === AMOUNT, `Her balance on the chain is ${formatEther(balance)}.`)
    return `${formatEther(balance)} ETH by eth_getBalance`
  },
}

const preview: DemoStep = {
  title: 'Preview: what a payment would do',
  run: async (story) => {
    const alice = madeIn(story, 'alice')
    const count = await story.chainOf(NETWORK).getTransactionCount({ address: alice })
    const result = await story.post('/transactions/preview', {
      network: NETWORK,
      from: alice,
      unsigned_transaction: { to: RECIPIENT, value: '1000' },
    })
    hold(
      textAt(result, 'simulation', 'asset_changes', 0, 'raw_amount') === '1000',
      'The change of 1000 wei is missing.',
    )
    hold(textAt(result, 'simulation', 'asset_changes', 0, 'token', 'contract_address') === 'ETH', 'It is not in ETH.')
    const after = await story.chainOf(NETWORK).getTransactionCount({ address: alice })
    hold(after === count, 'The preview sent a transaction.')
    return '1000 wei would leave; nothing was sent'
  },
}

const signOnly: DemoStep = {
  title: 'Sign: raw bytes, sent by plain JSON-RPC',
  run: async (story) => {
    const alice = madeIn(story, 'alice')
    const raw = await story.post('/transactions/sign', {
      network: NETWORK,
      signer_wallet_address: alice,
      unsigned_transaction: { to: RECIPIENT, value: '1000' },
      user_pin: PIN,
    })
    hold(typeof raw === 'string', 'The answer is no JSON string.')
    const receipt = await story.sendRaw(NETWORK, raw)
    hold(receipt.status === 'success' && story.isSame(receipt.from, alice), 'The chain did not take it from her.')
    const status = await story.get('/transactions/status-by-hash', {
      network: NETWORK,
      transaction_hash: receipt.transactionHash,
    })
    hold(textAt(status, 'status') === 'success', 'status-by-hash does not say success.')
    return `block ${receipt.blockNumber}, ${short(receipt.transactionHash)}`
  },
}

const foreignCollection: DemoStep = {
  title: "Deploy OpenZeppelin's ERC-721",
  run: async (story) => {
    const project = madeIn(story, 'project')
    const { abi, bytecode } = foreignContract('WizardCollection')
    const sent = await story.post('/transactions/sign-and-send', {
      network: NETWORK,
      signer_wallet_address: project,
      unsigned_transaction: { input: encodeDeployData({ abi, bytecode, args: ['Foreign', 'FRGN', project] }) },
      developer_secret: story.secret,
    })
    const address = addressAt(await story.succeeded(sent), 'contract_address')
    const code = await story.chainOf(NETWORK).getCode({ address })
    hold(code !== undefined, `There is no code at ${address}.`)
    story.made.set('foreign', address)
    return `code at ${short(address)}`
  },
}

const TOKEN_ID = 0n

const mint: DemoStep = {
  title: 'Mint an NFT of it to her, by a job',
  run: async (story) => {
    const [alice, address] = [madeIn(story, 'alice'), madeIn(story, 'foreign')]
    const minted = await story.succeeded(
      await story.post('/nfts/mint', {
        network: NETWORK,
        contract_address: address,
        recipient: alice,
        uri: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
        developer_secret: story.secret,
      }),
    )
    const owner = await ownerOf(story, address)
    hold(story.isSame(owner, alice), `The token belongs to ${owner}.`)
    const item = await story.activityOf({
      network: NETWORK,
      address: alice,
      transactionHash: textAt(minted, 'transaction_hash'),
    })
    hold(textAt(item, 'type') === 'receive_nft', 'Her activity does not show receive_nft.')
    return `ownerOf(${TOKEN_ID}) is hers; receive_nft in her activity`
  },
}

const ownerOf = (story: Story, address: Address, tokenId = TOKEN_ID): Promise<Address> =>
  story.chainOf(NETWORK).readContract({ address, abi: erc721Abi, functionName: 'ownerOf', args: [tokenId] })

const transfer: DemoStep = {
  title: 'Transfer it to another wallet, by a job',
  run: async (story) => {
    const [alice, address] = [madeIn(story, 'alice'), madeIn(story, 'foreign')]
    const made = await story.post('/wallets', {
      network: NETWORK,
      name: 'Bob',
      control_mode: 'developer',
      developer_secret: story.secret,
    })
    const bob = addressAt(made, 'address')
    const moved = await story.succeeded(
      await story.post('/nfts/transfer', {
        network: NETWORK,
        from: alice,
        contract_address: address,
        recipient: bob,
        token_id: TOKEN_ID.toString(),
        user_pin: PIN,
      }),
    )
    const owner = await ownerOf(story, address)
    hold(story.isSame(owner, bob), `The token belongs to ${owner}.`)
    const transactionHash = textAt(moved, 'transaction_hash')
    const sent = await story.activityOf({ network: NETWORK, address: alice, transactionHash })
    const received = await story.activityOf({ network: NETWORK, address: bob, transactionHash })
    hold(textAt(sent, 'type') === 'send_nft', 'Her activity does not show send_nft.')
    hold(textAt(received, 'type') === 'receive_nft', 'His activity does not show receive_nft.')
    const held = await story.get('/nfts', { network: NETWORK, wallet_address: bob })
    hold(story.isSame(textAt(held, 0, 'contract_address'), address), 'GET /nfts does not list it.')
    return `ownerOf(${TOKEN_ID}) is his; in the activity of both`
  },
}

const outside: DemoStep = {
  title: 'An ERC-20 that somebody else sends her',
  run: async (story) => {
    const alice = madeIn(story, 'alice')
    const { abi, bytecode } = foreignContract('TestToken')
    const deployed = await story.sendFromOutside(NETWORK, {
      data: encodeDeployData({ abi, bytecode, args: ['Dollars', 'USD', 6] }),
    })
    const token = deployed.contractAddress
    hold(token !== null && token !== undefined, 'The token was not deployed.')
    story.made.set('token', token)
    const input = encodeFunctionData({ abi, functionName: 'mint', args: [alice, 2_500_000n] })
    const { transactionHash } = await story.sendFromOutside(NETWORK, { to: token, data: input })
    const balance = await story
      .chainOf(NETWORK)
      .readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [alice] })
    hold(balance === 2_500_000n, `balanceOf says ${balance}.`)
    const item = await story.activityOf({ network: NETWORK, address: alice, transactionHash })
    const shown = `${textAt(item, 'metadata', 'amount')} ${textAt(item, 'token', 'symbol')}`
    hold(textAt(item, 'type') === 'receive_token' && shown === '2.5 USD', `Her activity shows ${shown}.`)
    return `${shown} by balanceOf and in her activity`
  },
}

const ownCollection: DemoStep = {
  title: 'Our own collection, with hosted metadata',
  run: async (story) => {
    const alice = madeIn(story, 'alice')
    const created = await story.succeeded(
      await story.post('/nfts/collections', {
        network: NETWORK,
        name: 'Doors',
        symbol: 'DOOR',
        image_url: 'https://example.com/doors.png',
        developer_secret: story.secret,
      }),
    )
    const address = addressAt(created, 'contract_address')
    const metadata = { name: 'Door #1', description: 'A red door.', image: 'https://example.com/door-1.png' }
    const minted = await story.succeeded(
      await story.post('/nfts/mint', {
        network: NETWORK,
        contract_address: address,
        recipient: alice,
        metadata,
        developer_secret: story.secret,
      }),
    )
    const item = await story.activityOf({
      network: NETWORK,
      address: alice,
      transactionHash: textAt(minted, 'transaction_hash'),
    })
    const uri = await story.chainOf(NETWORK).readContract({
      address,
      abi: parseAbi(['function tokenURI(uint256 tokenId) view returns (string)']),
      functionName: 'tokenURI',
      args: [BigInt(textAt(item, 'metadata', 'token_id'))],
    })
    const hosted: unknown = await (await fetch(uri)).json()
    hold(Bun.deepEquals(hosted, metadata), `The token URI leads to ${JSON.stringify(hosted)}.`)
    return `tokenURI leads to its metadata at ${short(address)}`
  },
}

/** The steps with eoa wallets and NFTs. */
export const MAIN_JOB: readonly DemoStep[] = [
  wallets,
  fund,
  preview,
  signOnly,
  foreignCollection,
  mint,
  transfer,
  outside,
  ownCollection,
]
