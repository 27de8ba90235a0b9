// A contract wallet, from before its deployment: its first transaction, a batch, deploys it.

import { randomUUID } from 'node:crypto'
import { type Address, encodeFunctionData, erc20Abi, parseAbi, parseEther, toHex } from 'viem'
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

const GAS_MONEY = parseEther('1')
const TOKENS = 5_000_000n
const ALLOWED = 2_000_000n
const PAID = 1_500_000n
const MINTABLE = parseAbi(['function mint(address to, uint256 value)'])

/** The calls of the batch. */
const batchOf = (story: Story) => {
  const to = madeIn(story, 'token')
  const call = (functionName: 'approve' | 'transfer', args: readonly [Address, bigint]) => ({
    to,
    input: encodeFunctionData({ abi: erc20Abi, functionName, args }),
  })
  return [call('approve', [madeIn(story, 'project'), ALLOWED]), call('transfer', [RECIPIENT, PAID])]
}

const codeOf = (story: Story, address: Address) => story.chainOf(NETWORK).getCode({ address })

const open: DemoStep = {
  title: 'A contract wallet, before it is deployed',
  run: async (story) => {
    const owner = { network: NETWORK, control_mode: 'user', user_pin: PIN }
    const made = await story.post('/wallets', { ...owner, name: 'Carol', type: 'contract', owner_id: randomUUID() })
    const safe = addressAt(made, 'address')
    story.made.set('safe', safe)
    hold((await codeOf(story, safe)) === undefined, `${safe} has code already.`)
    const data = encodeFunctionData({ abi: MINTABLE, args: [safe, TOKENS] })
    const { transactionHash } = await story.sendFromOutside(NETWORK, { to: madeIn(story, 'token'), data })
    const item = await story.activityOf({ network: NETWORK, address: safe, transactionHash })
    const shown = `${textAt(item, 'metadata', 'amount')} ${textAt(item, 'token', 'symbol')}`
    hold(textAt(item, 'type') === 'receive_token' && shown === '5 USD', `Its activity shows ${shown}.`)
    return `no code at ${short(safe)}, and ${shown} in its activity`
  },
}

const gasMoney: DemoStep = {
  title: 'Who pays its gas: the key that it obeys',
  run: async (story) => {
    const { code, error } = await story.refused('/transactions/batch-sign-and-send', {
      network: NETWORK,
      signer_wallet_address: madeIn(story, 'safe'),
      unsigned_transactions: batchOf(story),
      user_pin: PIN,
    })
    const [owner] = /^0x[0-9a-fA-F]{40}/.exec(error) ?? []
    hold(code === 'balance_insufficient' && owner !== undefined, `It is refused for another reason: ${error}`)
    hold(!story.isSame(owner, madeIn(story, 'safe')), 'The wallet itself is to pay.')
    await story.sendFromOutside(NETWORK, { to: owner as Address, value: toHex(GAS_MONEY) })
    return `${code} names ${short(owner)}`
  },
}

const preview: DemoStep = {
  title: 'Preview a batch: approve and transfer',
  run: async (story) => {
    const safe = madeIn(story, 'safe')
    const results = await story.post('/transactions/preview-bundle', {
      network: NETWORK,
      from: safe,
      unsigned_transactions: batchOf(story),
    })
    const names = [textAt(results, 0, 'function_name'), textAt(results, 1, 'function_name')].join(', ')
    hold(names === 'approve, transfer', `It is decoded as ${names}.`)
    const amount = textAt(results, 1, 'simulation', 'asset_changes', 0, 'raw_amount')
    hold(amount === PAID.toString(), `${amount} would leave.`)
    hold((await codeOf(story, safe)) === undefined, 'The preview deployed it.')
    return `${names}: 1.5 USD would leave; still no code`
  },
}

const batch: DemoStep = {
  title: 'The batch in one transaction deploys it',
  run: async (story) => {
    const [safe, token] = [madeIn(story, 'safe'), madeIn(story, 'token')]
    const sent = await story.succeeded(
      await story.post('/transactions/batch-sign-and-send', {
        network: NETWORK,
        signer_wallet_address: safe,
        unsigned_transactions: batchOf(story),
        user_pin: PIN,
      }),
    )
    hold((await codeOf(story, safe)) !== undefined, `There is no code at ${safe}.`)
    const chain = story.chainOf(NETWORK)
    const read = { address: token, abi: erc20Abi } as const
    const spender = madeIn(story, 'project')
    const allowance = await chain.readContract({ ...read, functionName: 'allowance', args: [safe, spender] })
    const left = await chain.readContract({ ...read, functionName: 'balanceOf', args: [safe] })
    hold(allowance === ALLOWED && left === TOKENS - PAID, `allowance says ${allowance}, balanceOf ${left}.`)
    const transactionHash = textAt(sent, 'transaction_hash')
    const item = await story.activityOf({ network: NETWORK, address: safe, transactionHash })
    const shown = `${textAt(item, 'metadata', 'amount')} ${textAt(item, 'token', 'symbol')}`
    hold(textAt(item, 'type') === 'send_token' && shown === '1.5 USD', `Its activity shows ${shown}.`)
    return `code there; allowance 2 USD, ${shown} sent, in its activity`
  },
}

/** A Safe: open, fund, preview, batch. Needs the token and the project's wallet. */
export const CONTRACT_WALLET: readonly DemoStep[] = [open, gasMoney, preview, batch]
