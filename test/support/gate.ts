import { callRpc } from '../../src/devnet/rpc.ts'

type Request = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }

/** One request that is kept waiting. */
export type Held = {
  /** Resolves when the request has come as far as it is let. */
  readonly reached: Promise<void>
  /** Lets it go on; `forgotten` breaks the connection off instead. */
  readonly release: (how?: 'answered' | 'forgotten') => void
}

type Trap = { readonly method: string; readonly when: 'before' | 'after'; readonly stop: () => Promise<boolean> }

/** A node's address in front of a real node, where a test can keep requests waiting, or make the node seem away. */
export const startGate = (rpcUrl: string) => {
  const traps: Trap[] = []
  let away = false
  const calls: string[] = []

  const sprung = async (methods: readonly string[], when: Trap['when']): Promise<boolean> => {
    const index = traps.findIndex((trap) => trap.when === when && methods.includes(trap.method))
    const [trap] = index === -1 ? [] : traps.splice(index, 1)
    return trap === undefined ? true : trap.stop()
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = (await request.json()) as Request | readonly Request[]
      const methods = [body].flat().map(({ method }) => method)
      calls.push(...methods)
      const gone = () => new Response('bad gateway', { status: 502 })
      if (away || !(await sprung(methods, 'before'))) return gone()
      const answer = await fetch(rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).catch(() => null)
      if (answer === null) return gone()
      const text = await answer.text()
      return (await sprung(methods, 'after')) ? new Response(text, { status: answer.status }) : gone()
    },
  })

  /** Keeps the next request of a method waiting: before the node hears it, or after it has answered. */
  const hold = (when: Trap['when'], method: string): Held => {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<boolean>()
    traps.push({
      method,
      when,
      stop: () => {
        reached.resolve()
        return released.promise
      },
    })
    return { reached: reached.promise, release: (how = 'answered') => released.resolve(how === 'answered') }
  }

  return {
    url: `http://127.0.0.1:${server.port}`,
    hold,
    /** From now on every request is answered with 502, or by the node again. */
    setAway: (value: boolean) => {
      away = value
    },
    /** How often a method was asked for so far. */
    count: (method: string) => calls.filter((each) => each === method).length,
    rpc: (method: string, params: readonly unknown[] = []) => callRpc(rpcUrl, method, params),
    stop: () => server.stop(true),
  }
}

export type Gate = ReturnType<typeof startGate>
