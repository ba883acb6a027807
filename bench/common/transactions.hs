-- What the systems in Haskell of tables stm-si and stm-ll share; as transactions.hpp. Threads are GHC's, spread over one
-- capability or --pes, two by default (--variant one, two; what follows in the name is what the driver has told the
-- run-time system).
module Transactions (Options (..), options, together, forATime, attempts, report, wrong) where

import Control.Concurrent
import Control.Monad
import Data.Bits ((.&.))
import Data.List (isPrefixOf)
import Foreign (Ptr, mallocForeignPtrArray, peek, peekArray, plusPtr, poke, pokeArray, withForeignPtr)
import GHC.Clock (getMonotonicTime)
import GHC.Conc (STM, unsafeIOToSTM)
import System.Environment (getArgs, getProgName)
import System.Exit
import System.IO
import Text.Read (readMaybe)

data Options = Options
  { updates, table, lookups, fibers, milliseconds, samples, warmup, pes :: Int, variant, what :: String }

options :: IO Options
options = do
  o <- parse (Options 10000000 1000 0 1000 300 5 1 2 "two" "") =<< getArgs
  setNumCapabilities (if "one" `isPrefixOf` variant o then 1 else pes o)
  pure o

-- Options come as `--name value`, those of other tables too.
parse :: Options -> [String] -> IO Options
parse o [] = pure o
parse _ [name] = bad name ""
parse o (name : value : rest) = do
  let number set = maybe (bad name value) (\n -> parse (set n) rest) (readMaybe value)
  case name of
    "--updates" -> number (\n -> o {updates = n})
    "--table" -> number (\n -> o {table = n})
    "--lookups" -> number (\n -> o {lookups = n})
    "--fibers" -> number (\n -> o {fibers = n})
    "--milliseconds" -> number (\n -> o {milliseconds = n})
    "--samples" -> number (\n -> o {samples = n})
    "--warmup" -> number (\n -> o {warmup = n})
    "--variant" -> parse o {variant = value} rest
    "--what" -> parse o {what = value} rest
    "--pes" -> number (\n -> o {pes = n})
    _ -> bad name value

bad :: String -> String -> IO a
bad name value = do
  program <- getProgName
  hPutStrLn stderr (program ++ ": bad option or value: " ++ name ++ " " ++ value)
  exitWith (ExitFailure 2)

-- Runs `body` on so many threads at once. Their results, and the seconds.
together :: Int -> (Int -> IO a) -> IO ([a], Double)
together threads body = do
  begin <- getMonotonicTime
  ends <- forM [0 .. threads - 1] $ \me -> do
    end <- newEmptyMVar
    _ <- forkOn me (body me >>= \a -> a `seq` putMVar end a)
    pure end
  results <- mapM takeMVar ends
  end <- getMonotonicTime
  pure (results, end - begin)

-- Lets what `prepare thread` makes run again and again on each thread for so long. How often each did, and the seconds.
forATime :: Options -> (Int -> IO (IO ())) -> IO ([Int], Double)
forATime o prepare = do
  begin <- getMonotonicTime
  let end = begin + fromIntegral (milliseconds o) / 1000
      -- Each looks at the clock: without time slices no thread that waits for it would come to run.
      go step n = do
        done <- if n .&. 63 == 0 then (> end) <$> getMonotonicTime else pure False
        if done then pure n else step >> (go step $! n + 1)
  together (fibers o) (\me -> prepare me >>= \step -> go step (0 :: Int))

-- Lets each thread do what `body counted thread` says, in whose transactions `counted` stands first. How often one
-- began: those that were undone too. It allocates nothing.
attempts :: Int -> (STM () -> Int -> IO ()) -> IO Int
attempts threads body = do
  counts <- mallocForeignPtrArray (threads * words')
  withForeignPtr counts $ \all' -> do
    pokeArray all' (replicate (threads * words') (0 :: Int))
    _ <- together threads $ \me -> do
      let own = all' `plusPtr` (me * words' * 8) :: Ptr Int
      body (unsafeIOToSTM (peek own >>= \n -> poke own $! n + 1)) me
    sum <$> peekArray (threads * words') all'
  where
    words' = 16 -- two cache lines a thread

report :: Double -> [(String, Double)] -> [Int] -> IO ()
report seconds members shares = do
  let share = fromIntegral (minimum shares) / fromIntegral (max 1 (maximum shares)) :: Double
      said = concat [", \"" ++ name ++ "\": " ++ show value | (name, value) <- members ++ [("share", share)]]
  putStrLn ("{\"seconds\": " ++ show seconds ++ ", \"checked\": true" ++ said ++ "}")
  hFlush stdout

wrong :: String -> Int -> Int -> IO a
wrong what got expected = do
  program <- getProgName
  hPutStrLn stderr (program ++ ": wrong answer: " ++ what ++ " is " ++ show got ++ ", expected " ++ show expected)
  exitWith (ExitFailure 1)
