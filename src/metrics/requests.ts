import type { Metrics } from './metrics.ts'

/** Anything may stand in a request's first line: a label has only what is known. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
const OTHER = 'other'

type RequestTimer = {
  /** When a request comes in. */
  begin(request: Request): void
  /** When its answer has left. @param answer.route the template of its path, or undefined where no route has it. */
  end(request: Request, answer: { readonly route: string | undefined; readonly status: unknown }): void
}

/** Counts requests, and how long they took. */
export const createRequestTimer = ({ requestDuration }: Pick<Metrics, 'requestDuration'>): RequestTimer => {
  const begunAtMs = new WeakMap<Request, number>()
  return {
    begin: (request) => {
      begunAtMs.set(request, performance.now())
    },
    end: (request, { route, status }) => {
      const begun = begunAtMs.get(request)
      if (begun === undefined) return
      const method = METHODS.has(request.method) ? request.method : OTHER
      const labels = { method, route: route ?? OTHER, status: String(status ?? 200) }
      requestDuration.observe(labels, (performance.now() - begun) / 1000)
    },
  }
}
