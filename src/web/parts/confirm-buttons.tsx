interface ConfirmButtonsOptions {
  /** Why it was not done the last time; empty before. */
  readonly problem: string
  /** What the button says that does nothing. */
  readonly back: string
  readonly onBack: () => void
  readonly isDestructive: boolean
  readonly isDisabled: boolean
}

/** The end of a form that asks before it does something. */
export const ConfirmButtons = ({ problem, back, onBack, isDestructive, isDisabled }: ConfirmButtonsOptions) => (
  <>
    <p role="alert" class="error">
      {problem}
    </p>
    <p class="buttons">
      <button type="button" onClick={onBack}>
        {back}
      </button>
      <button type="submit" class={isDestructive ? 'danger' : 'main'} disabled={isDisabled}>
        {isDestructive ? 'Yes, do it' : 'Do it'}
      </button>
    </p>
  </>
)
