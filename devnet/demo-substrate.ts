// The same service on another family of chains: a real Asset Hub runtime stands in for Polkadot.

import { type DemoStep, hold, short, textAt } from './demo-story.ts'

const NETWORK = 'Polkadot'
const DOT = 10n ** 10n

const from = async (story: Parameters<DemoStep['run']>[0]) => ({
  network: NETWORK,
  from: await story.walletOfProject(NETWORK),
  developer_secret: story.secret,
})

export const SUBSTRATE: readonly DemoStep[] = [
  {
    title: 'On Polkadot: preview a transfer, then make it',
    run: async (story) => {
      const sender = await story.walletOfProject(NETWORK)
      const recipient = textAt(
        await story.post('/wallets', {
          network: NETWORK,
          name: 'A recipient',
          control_mode: 'developer',
          developer_secret: story.secret,
        }),
        'address',
      )
      const unsigned_transaction = { to: recipient, value: String(2n * DOT) }
      const preview = await story.post('/transactions/preview', {
        network: NETWORK,
        from: sender,
        unsigned_transaction,
      })
      const called = textAt(preview, 'function_name')
      const submitted = await story.post('/transactions/sign-and-send', {
        network: NETWORK,
        signer_wallet_address: sender,
        unsigned_transaction,
        developer_secret: story.secret,
      })
      const hash = textAt(await story.succeeded(submitted), 'transaction_hash')
      const item = await story.activityOf({ network: NETWORK, address: recipient, transactionHash: hash })
      hold(textAt(item, 'metadata', 'amount') === '2', 'The activity does not say 2 DOT.')
      return `${called}: ${short(recipient)} has 2 DOT, by its activity`
    },
  },
  {
    title: 'On Polkadot: a collection, an item in it, and its transfer',
    run: async (story) => {
      const sender = await from(story)
      const created = await story.post('/nfts/collections', {
        ...sender,
        name: 'Doors of Polkadot',
        symbol: 'DOOR',
        image_url: 'https://example.com/door.png',
      })
      const collection = textAt(await story.succeeded(created), 'contract_address')
      const minted = await story.post('/nfts/mint', {
        ...sender,
        contract_address: collection,
        metadata: { name: 'A door', description: 'It opens.', image: 'https://example.com/door.png' },
      })
      const hash = textAt(await story.succeeded(minted), 'transaction_hash')
      const item = await story.activityOf({ network: NETWORK, address: sender.from, transactionHash: hash })
      const tokenId = textAt(item, 'metadata', 'token_id')
      const items = await story.get('/nfts', { network: NETWORK, contract_address: collection })
      hold(Array.isArray(items) && items.length === 1, 'The collection does not have one item.')
      const recipient = await story.post('/wallets', {
        network: NETWORK,
        name: 'Another recipient',
        control_mode: 'developer',
        developer_secret: story.secret,
      })
      const moved = await story.post('/nfts/transfer', {
        ...sender,
        contract_address: collection,
        recipient: textAt(recipient, 'address'),
        token_id: tokenId,
      })
      await story.succeeded(moved)
      return `collection ${collection}, item ${tokenId}: ${short(textAt(recipient, 'address'))} holds it`
    },
  },
]
