/** Where it is counted that something happened, and how long it took in milliseconds. Names are those of the metrics. */
export interface Recorder {
  record(name: string, ms: number): void
}

export const silentRecorder: Recorder = { record() {} }
