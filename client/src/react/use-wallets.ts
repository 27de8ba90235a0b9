import { useCallback, useEffect, useState } from 'react'
import type { components } from '../document.generated.ts'
import { StrongroomError } from '../errors.ts'
import type { InputOf } from '../operation.ts'
import { useClient, useUserId } from './provider.tsx'

export type UserWallets = {
  /** null before they are read, and without a login. */
  readonly wallets: readonly components['schemas']['Wallet'][] | null
  readonly error: StrongroomError | null
  /** Reads them again, for instance after one was made. */
  readonly reload: () => void
}

type Answer = Pick<UserWallets, 'wallets' | 'error'>

const NOTHING: Answer = { wallets: null, error: null }

/** The wallets of the user on a network; a page of them, with `page` and `page_size`. */
export const useWallets = ({ network, page, page_size }: InputOf<'wallets_list'>): UserWallets => {
  const client = useClient()
  const userId = useUserId()
  const question = JSON.stringify([userId, network, page, page_size])
  const [read, setRead] = useState({ question: '', answer: NOTHING })
  const [count, setCount] = useState(0)
  const reload = useCallback(() => setCount((before) => before + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the count asks again
  useEffect(() => {
    if (userId === null) return
    const controller = new AbortController()
    const { signal } = controller
    const input = { network, ...(page && { page }), ...(page_size && { page_size }) }
    client.wallets.list(input, { signal }).then(
      (wallets) => setRead({ question, answer: { wallets, error: null } }),
      (error: unknown) => {
        if (signal.aborted) return
        if (!(error instanceof StrongroomError)) throw error
        setRead({ question, answer: { wallets: null, error } })
      },
    )
    return () => controller.abort()
  }, [client, userId, network, page, page_size, question, count])

  return { ...(read.question === question ? read.answer : NOTHING), reload }
}
