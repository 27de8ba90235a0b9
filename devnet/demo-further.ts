// The same service on a network that is not built in: devnet/networks.json adds it.

import { parseAbi } from 'viem'
import { addressAt, type DemoStep, hold, PIN, short, textAt } from './demo-story.ts'

const NETWORK = 'Harbor'
const AMOUNT = 3n * 10n ** 18n

export const FURTHER: readonly DemoStep[] = [
  {
    title: 'On a network that a file adds: send its coin',
    run: async (story) => {
      const [alice, from] = [story.made.get('alice') ?? '', await story.projectWallet(NETWORK)]
      const unsigned_transaction = { to: alice, value: AMOUNT.toString() }
      const preview = await story.post('/transactions/preview', { network: NETWORK, from, unsigned_transaction })
      const word = textAt(preview, 'simulation', 'asset_changes', 0, 'token', 'contract_address')
      hold(word === 'HARB', `The preview tells of ${word}.`)
      const body = {
        network: NETWORK,
        signer_wallet_address: from,
        unsigned_transaction,
        developer_secret: story.secret,
      }
      const sent = await story.succeeded(await story.post('/transactions/sign-and-send', body))
      const transactionHash = textAt(sent, 'transaction_hash')
      const item = await story.activityOf({ network: NETWORK, address: alice, transactionHash })
      const shown = `${textAt(item, 'metadata', 'amount')} ${textAt(item, 'token', 'symbol')}`
      hold(shown === '3 HARB', `Her activity shows ${shown}.`)
      const balance = await story.chainOf(NETWORK).getBalance({ address: addressAt(alice) })
      hold(balance === AMOUNT, `Her balance on the chain is ${balance}.`)
      return `${shown} by eth_getBalance and in her activity`
    },
  },
  {
    title: 'There too: a collection, an item, its transfer',
    run: async (story) => {
      const alice = story.made.get('alice') ?? ''
      const sender = await story.projectWallet(NETWORK)
      const collection = {
        network: NETWORK,
        name: 'Berths',
        symbol: 'BRTH',
        image_url: 'https://example.com/berths.png',
        developer_secret: story.secret,
      }
      const created = await story.succeeded(await story.post('/nfts/collections', collection))
      const address = addressAt(created, 'contract_address')
      const item = { network: NETWORK, contract_address: address, developer_secret: story.secret }
      const minted = await story.succeeded(
        await story.post('/nfts/mint', { ...item, recipient: alice, uri: 'https://example.com/berth.json' }),
      )
      const transactionHash = textAt(minted, 'transaction_hash')
      const held = await story.activityOf({ network: NETWORK, address: alice, transactionHash })
      const token_id = textAt(held, 'metadata', 'token_id')
      const moved = await story.post('/nfts/transfer', {
        network: NETWORK,
        contract_address: address,
        token_id,
        recipient: sender,
        from: alice,
        user_pin: PIN,
      })
      await story.succeeded(moved)
      const abi = parseAbi(['function ownerOf(uint256) view returns (address)'])
      const read = { address, abi, functionName: 'ownerOf', args: [BigInt(token_id)] } as const
      const owner = await story.chainOf(NETWORK).readContract(read)
      hold(story.isSame(owner, sender), `ownerOf says ${owner}.`)
      return `ownerOf(${token_id}) of ${short(address)}`
    },
  },
]
