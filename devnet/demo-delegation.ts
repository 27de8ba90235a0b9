// A policy: what a user lets the developer do with the contract wallet's NFTs, and what remains after it is revoked.

import { setTimeout as sleep } from 'node:timers/promises'
import { erc721Abi } from 'viem'
import { addressAt, type DemoStep, hold, madeIn, NETWORK, PIN, type Story, short, textAt } from './demo-story.ts'

const AFTER_REVOCATION_MS = 1000

const collection: DemoStep = {
  title: "The contract wallet's own collection",
  run: async (story) => {
    const created = await story.succeeded(
      await story.post('/nfts/collections', {
        network: NETWORK,
        from: madeIn(story, 'safe'),
        name: 'Tickets',
        symbol: 'TCK',
        image_url: 'https://example.com/tickets.png',
        user_pin: PIN,
      }),
    )
    const address = addressAt(created, 'contract_address')
    hold((await story.chainOf(NETWORK).getCode({ address })) !== undefined, `There is no code at ${address}.`)
    story.made.set('tickets', address)
    return `code at ${short(address)}`
  },
}

/** With the developer's secret only. */
const mintBody = (story: Story) => ({
  network: NETWORK,
  from: madeIn(story, 'safe'),
  contract_address: madeIn(story, 'tickets'),
  recipient: madeIn(story, 'alice'),
  uri: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/1',
  developer_secret: story.secret,
})

const ticketsOf = (story: Story): Promise<bigint> =>
  story.chainOf(NETWORK).readContract({
    address: madeIn(story, 'tickets'),
    abi: erc721Abi,
    functionName: 'balanceOf',
    args: [madeIn(story, 'alice')],
  })

/** Lets the developer call one function of one contract. @returns its id. */
const allow = async (story: Story, to: { readonly contract: string; readonly call: string }): Promise<string> => {
  const made = await story.post('/policies', {
    network: NETWORK,
    wallet_address: madeIn(story, 'safe'),
    argument_rules: [
      { argument: 'to', operator: 'eq', value: to.contract },
      { argument: 'decodedInput.function', operator: 'eq', value: to.call },
    ],
    developer_secret: story.secret,
    user_pin: PIN,
  })
  return textAt(made, 'uuid')
}

const delegated: DemoStep = {
  title: 'By her policy the developer mints of it',
  run: async (story) => {
    const { status, code } = await story.refused('/nfts/mint', mintBody(story))
    await allow(story, { contract: madeIn(story, 'token'), call: 'transfer' })
    story.policies.set('mint', await allow(story, { contract: madeIn(story, 'tickets'), call: 'safeMint' }))
    await story.succeeded(await story.post('/nfts/mint', mintBody(story)))
    const held = await ticketsOf(story)
    hold(held === 1n, `balanceOf says ${held}.`)
    return `${status} ${code} without it; with it balanceOf says 1`
  },
}

const revoked: DemoStep = {
  title: 'One second after its revocation: refused',
  run: async (story) => {
    await story.post('/policies/revoke', { uuid: story.policies.get('mint'), user_pin: PIN })
    await sleep(AFTER_REVOCATION_MS)
    const { status, code } = await story.refused('/nfts/mint', mintBody(story))
    hold(status === 403 && code === 'policy_denied', `It is refused for another reason: ${status} ${code}`)
    const held = await ticketsOf(story)
    hold(held === 1n, `balanceOf says ${held}.`)
    return `${status} ${code}; balanceOf still says 1`
  },
}

/** A policy, its use and its end. Needs the contract wallet. */
export const DELEGATION: readonly DemoStep[] = [collection, delegated, revoked]
